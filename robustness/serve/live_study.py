"""One study under way: its progress, evidence, failures and curves, kept up to date by looks at the store."""

from __future__ import annotations

import heapq
import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from robustness.optimize.progress import SearchProgress
from robustness.serve.curves import MOST_ENDED, Curves
from robustness.serve.evidence import comparisons, complete, fractions, shown_outcomes, stopping_evidence
from robustness.store.following import FollowedTrial, Follower, News
from robustness.store.study_store import StudyStore
from robustness.study.arms import compared_arms, is_paired
from robustness.study.bundled import bundled_names
from robustness.sweep.outcomes import UNTRAINED_NOTE, Judge
from robustness.sweep.progress import Progress, SweepProgress, in_words
from robustness.sweep.stopping import STOPPED_NOTE, Decision, Watched
from robustness.sweep.trial_judge import TrialJudge
from robustness.trial import ENDED, NO_RESULT, PENDING, EpochResult, TrialKey

State = Literal["waiting", "running", "stopped", "finished"]
"""`waiting` has not begun; `stopped` has begun, and its driver no longer runs."""

MOST_FAILURES = 50
"""Failed trials that are listed, the newest first; all are counted."""
MOST_RUNNING = 200


class LiveStudy:
    """A study as the live page shows it; `look` brings it up to date."""

    def __init__(self, store: StudyStore, option: str = "") -> None:
        """`option` names the store in the command that resumes the study; empty if it is the usual one."""
        self._store = store
        self._option = option
        self._document = store.document()
        self.name = store.name
        self._is_search = bool(self._document.get("search"))
        self._labels = [str(arm["label"]) for arm in self._document["arms"]]
        self.progress: Progress = self._before()
        self._follower = Follower(store, self.progress.metric)
        self.curves = Curves(self.progress.metric)
        self._judge: TrialJudge | None = None
        self._decision: Decision | None = None
        self._baseline_known = False
        self._stopped: Mapping[str, Any] | None = None
        self.is_locked = False
        """Whether the study's driver runs."""
        self._done = False
        self._alive = 0.0
        """When a sign of life was last seen; 0 if never."""
        self.state: State = "waiting"

    def look(self) -> bool:
        """Read what is new; returns whether anything has changed."""
        before = self.is_locked, self.state
        # First, since what a driver writes last is there once it has released its lock.
        self.is_locked = self._store.is_locked()
        news = self._follower.look()
        baseline = self._new_baseline()
        afresh = news.everything or baseline
        changed = bool(afresh or news.trials or news.epochs)
        if changed:
            if afresh:
                self._begin()
            self.curves.follow(news)
            if news.everything:
                self._read_last_curves()
            self._add(list(self._follower.trials.values()) if afresh else news.trials, news)
            self._done = bool(self.progress.states) and self.progress.done()
            self._alive = self._last_sign(news) if news.everything else time.time()
        if self._document.get("stop"):
            self._stopped = self._store.note(STOPPED_NOTE)
        if self.is_locked:
            self._alive = time.time()
        self.state = self._state()
        return changed or before != (self.is_locked, self.state)

    def driver_changed(self) -> bool:
        """Whether the study's driver has started or ended since the last look."""
        return self._store.is_locked() != self.is_locked

    def _state(self) -> State:
        if self._done or self._stopped is not None:
            return "finished"
        if self.is_locked:
            return "running"
        return "stopped" if self._alive else "waiting"

    def overview(self) -> dict[str, Any]:
        """The study in a line of the list of all studies."""
        return {
            "name": self.name,
            "kind": "search" if self._is_search else "sweep",
            "state": self.state,
            "stopped_early": self._stopped is not None,
            "alive": self._alive or None,
            "tallies": self._tallies(),
            "running": len(self.progress.running) if self.is_locked else 0,
            "seconds_left": self._seconds_left(),
            "headline": self.progress.outcomes_line(),
            "failures": self._failed_count(),
        }

    def snapshot(self) -> dict[str, Any]:
        """Everything that the study's page shows, but for its curves."""
        work = self.progress.work_left()
        return {
            **self.overview(),
            "at": time.time(),
            "description": str(self._document.get("description") or ""),
            "arms": self._labels,
            "metric": self.progress.metric,
            "counts": self._counts(),
            "workers": self._running(),
            "work_done": self._work_done(),
            "work_left": None if work is None or self.state == "finished" else work,
            "outcomes": self._outcomes(),
            "search": self.progress.details().get("arms") if self._is_search else None,
            "failed": self._failed(),
            "command": f"robustness {'optimize' if self._is_search else 'sweep'} {self._file()}{self._option}",
        }

    def _before(self) -> Progress:
        if self._is_search:
            return SearchProgress.of(self._store)
        return SweepProgress.before(self._store, self._document)

    def _begin(self) -> None:
        """Start again with the progress of no trial."""
        self.progress = self._before()
        if not self._is_search:
            self._judge = TrialJudge.of(self._store, self._document)
            watched = (
                Watched.stored(self._document, self._store.configurations()) if self._document.get("stop") else None
            )
            self._decision = None if watched is None else Decision(watched)

    def _new_baseline(self) -> bool:
        """Whether what chance scores, which a sweep measures at its start, has become known since the last look."""
        if self._is_search or self._baseline_known:
            return False
        self._baseline_known = Judge.of(self._document, self._store.note(UNTRAINED_NOTE)).known
        return self._baseline_known

    def _add(self, trials: Iterable[FollowedTrial], news: News) -> None:
        """Bring progress and evidence up to date."""
        if isinstance(self.progress, SearchProgress):
            # Its trials are few, since each rests on those before.
            self.progress = SearchProgress.of(self._store)
            return
        progress, judge = self.progress, self._judge
        if not isinstance(progress, SweepProgress) or judge is None:
            return
        rows = self._follower.trials
        for row, results in news.epochs.items():
            for result in results:
                judge.epoch(rows[row].key, result)
        for trial in trials:
            key = trial.key
            was, progress.states[key] = progress.states.get(key), trial.status
            if trial.status not in ENDED:
                progress.outcomes.pop(key, None)
            elif was not in ENDED:
                outcome = progress.outcomes[key] = judge.outcome(key, trial.status, trial.metric)
                if self._decision is not None:
                    self._decision.add(key, outcome)
                if trial.status == "finished" and trial.seconds is not None:
                    progress.add_epochs(key.arm, progress.epochs or 1, trial.seconds)
            if trial.status == "running":
                progress.running.setdefault(key, None)
            else:
                progress.running.pop(key, None)
        for row in news.restarted:
            if rows[row].key in progress.running:
                progress.running[rows[row].key] = None
        for row, results in news.epochs.items():
            if rows[row].key in progress.running:
                progress.running[rows[row].key] = results[-1]

    def _read_last_curves(self) -> None:
        """Read the curves of trials that ended before the first look."""
        ended = [trial for trial in self._follower.trials.values() if trial.ended is not None]
        last = sorted(
            heapq.nlargest(MOST_ENDED, ended, key=lambda trial: trial.ended or 0.0), key=lambda t: t.ended or 0
        )
        self.curves.add_ended(last, self._follower.epochs_of([trial.row for trial in last]))

    def _last_sign(self, news: News) -> float:
        """When the study last showed that it runs, by its trials alone; 0 if none has started."""
        times = [time for trial in news.trials for time in (trial.started, trial.ended) if time is not None]
        for row, results in news.epochs.items():
            times.append((self._follower.trials[row].started or 0.0) + sum(result.seconds for result in results))
        return max(times, default=0.0)

    def _tallies(self) -> list[dict[str, Any]]:
        return [{"noun": noun, "done": done, "all": every} for noun, (done, every) in self.progress.tallies().items()]

    def _counts(self) -> dict[str, int]:
        """The number of trials by status, in the order of a trial's life."""
        counts = Counter(self.progress.states.values())
        words = {status: in_words(status) for status in (*PENDING, *ENDED)}
        if not self.is_locked:
            words["running"] = "interrupted"
        return {word: counts[status] for status, word in words.items() if counts[status]}

    def _seconds_left(self) -> float | None:
        return self.progress.seconds_left() if self.state == "running" else None

    def _running(self) -> list[dict[str, Any]]:
        """Each running trial: what, where, since when, how far."""
        if not self.is_locked:
            return []
        running = [trial for trial in self._follower.trials.values() if trial.status == "running"]
        return [
            {
                "trial": self._name(trial.key),
                "arm": trial.key.arm,
                "worker": trial.worker,
                "device": trial.device,
                "started": trial.started,
                "attempt": trial.attempts,
                **self._newest(trial.key),
            }
            for trial in running[:MOST_RUNNING]
        ]

    def _newest(self, key: TrialKey) -> dict[str, Any]:
        newest: EpochResult | None = self.progress.running.get(key)
        value = None if newest is None else newest.measures.get(self.progress.metric)
        return {
            "epoch": None if newest is None else newest.epoch,
            "epochs": self.progress.epochs_of(key),
            "value": value if value is not None and math.isfinite(value) else None,
        }

    def _name(self, key: TrialKey) -> str:
        return self.progress.trial_name(key) if key in self.progress.states else str(key)

    def _work_done(self) -> float:
        """Seconds of workers: of ended trials, and of those that run."""
        now, total = time.time(), 0.0
        for trial in self._follower.trials.values():
            if trial.status in ENDED:
                total += trial.seconds or 0.0
            elif self.is_locked and trial.status == "running" and trial.started is not None:
                total += max(0.0, now - trial.started)
        return total

    def _outcomes(self) -> dict[str, Any] | None:
        """Fractions of the primary outcome and comparisons of arms; None if the study has no thresholds."""
        progress = self.progress
        if not isinstance(progress, SweepProgress) or progress.outcome is None:
            return None
        paired = is_paired(self._document)
        counted = shown_outcomes(progress.outcomes, progress.outcome, progress.drawn())
        pairs = complete(counted, self._labels, paired)
        watched = self._decision is not None
        terms = self._document.get("stop") or {}
        compared = compared_arms(self._labels, self._document.get("compare_with"))
        return {
            "outcome": in_words(progress.outcome),
            "paired": paired,
            "known": self._baseline_known,
            "fractions": fractions(pairs, self._labels, self._looks(progress)),
            "anytime": watched,
            "level": terms.get("level", 0.05),
            "least": terms.get("minimum_pairs"),
            "comparisons": comparisons(counted, compared, paired)
            if self._decision is None
            else stopping_evidence(self._decision),
            "stopped": None if self._stopped is None else str(self._stopped.get("reason")),
        }

    def _looks(self, progress: SweepProgress) -> list[bool] | None:
        """Whether evidence is read after each configuration of the finished prefix; None without `stop`."""
        if self._decision is None:
            return None
        pending = (key.configuration for key, status in progress.states.items() if status in PENDING)
        return self._decision.looks[: min(pending, default=None)]

    def _failed_count(self) -> dict[str, int]:
        return {in_words(status): count for status, count in self.progress.failures().items()}

    def _failed(self) -> list[dict[str, Any]]:
        """The trials that ended without a result, the newest first."""
        failed = [trial for trial in self._follower.trials.values() if trial.status in NO_RESULT]
        newest = heapq.nlargest(MOST_FAILURES, failed, key=lambda trial: trial.ended or 0.0)
        return [
            {
                "trial": self._name(trial.key),
                "status": in_words(trial.status),
                "ended": trial.ended,
                "worker": trial.worker,
                "error": (trial.error or "")[:1000],
                "reproduce": self.progress.how_to_reproduce(trial.key).strip(" ()").removeprefix("to reproduce: "),
            }
            for trial in newest
        ]

    def _file(self) -> str:
        """The study as a command names it."""
        return self.name if self.name in bundled_names("studies") else "STUDY.yaml"
