"""A sweep: pending trials of the plan go to an executor, and their results to the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from robustness.errors import StudyFileError
from robustness.execution.gpu_share import estimated_share
from robustness.execution.protocol import Executor, Share, Terms, never
from robustness.store.study_store import StudyStore
from robustness.study.study import Study
from robustness.sweep.plan import Plan
from robustness.sweep.recording import (
    Recorder,
    SweepWatcher,
    checkpoint_folder,
    run_folder,
    with_checkpoint,
    with_folder,
)
from robustness.sweep.stopping import STOPPED_NOTE, WATCHED_NOTE, Decision, Reason
from robustness.sweep.trial_judge import TrialJudge
from robustness.sweep.winners import plan_winners
from robustness.trial import NO_RESULT, Trial, TrialKey


@dataclass(frozen=True)
class SweepResult:
    """Counts of trials at the end of a sweep."""

    run: int
    """Trials that ended in this sweep."""
    left: int
    """Trials of the study that have not ended."""
    not_successful: int
    """Trials of the study that failed, timed out or ran out of memory, in this sweep or before."""
    stopped: Reason | None = None
    """Why the study's `stop` section ended it; None if it did not."""


def sweep(
    study: Study,
    plan: Plan,
    store: StudyStore,
    executor: Executor,
    watcher: SweepWatcher | None = None,
    stop: Callable[[], bool] = never,
    only: Sequence[TrialKey] = (),
) -> SweepResult:
    """Run a study's pending trials, or those of `only` if it is not empty, and then the further trials of its winners.

    The caller holds the study's lock. Raises StoreError if the store can no longer be written; saved results remain.
    """
    judge = TrialJudge.of(store)
    if study.stop is not None:
        store.save_note(WATCHED_NOTE, study.stop.model_dump(mode="json"))
    decision = Decision.of(study, plan, judge, store)
    wanted = set(only)
    folder, runs = checkpoint_folder(study, store), run_folder(study, store)

    def ended_early() -> bool:
        return stop() or decision.reason is not None

    recorder = Recorder(study, judge, folder, watcher, decision)

    def run_pending(default_only: bool = False) -> None:
        keys = [key for key in store.pending() if not wanted or key in wanted]
        keys = [key for key in keys if key.of_default or not default_only]
        if default_only and not keys:
            return
        with store.writer() as writer:
            recorder.writer = writer
            trials = (with_folder(with_checkpoint(plan.trial(key), folder), runs) for key in keys)
            executor.run(trials, recorder, terms_of(study), recorder.watching(stop if default_only else ended_early))

    if decision.reason is None:
        run_pending()
    if decision.reason is not None and not stop():
        # The evidence is about the draws; the default is trained all the same.
        run_pending(default_only=True)
    if not wanted and not ended_early():
        added = plan_winners(study.winners, plan, store)
        if added:
            if watcher is not None:
                watcher.planned(added)
            run_pending()
    if decision.reason is not None or store.note(STOPPED_NOTE):
        # Empty once an extended sweep goes on.
        store.save_note(STOPPED_NOTE, decision.note())
    if folder is not None:
        with suppress(OSError):
            folder.rmdir()
    counts = store.counts()
    return SweepResult(
        run=recorder.ended_here,
        left=counts.get("planned", 0) + counts.get("running", 0),
        not_successful=sum(counts.get(status, 0) for status in NO_RESULT),
        stopped=decision.reason,
    )


def terms_of(study: Study) -> Terms:
    """The resources, attempts and time limit of the study's trials."""
    resources = study.resources

    def share(trial: Trial) -> Share:
        gpu = estimated_share(trial) if resources.gpu == "auto" else resources.gpu
        return Share(resources.cpu, gpu, resources.memory or 0.0)

    asked = "max_attempts" in resources.model_fields_set and resources.max_attempts > 1
    return Terms(share, resources.max_attempts, asked, resources.trial_timeout)


def read_keys(words: Sequence[str], plan: Plan) -> list[TrialKey]:
    """Parse keys written as CONFIGURATION/ARM[/REPLICATE][@TASK]; raises StudyFileError for one not in the plan."""
    return [plan.trial(_read_key(word, bool(plan.tasks))).key for word in words]


def _read_key(word: str, with_task: bool) -> TrialKey:
    name, _, task = word.rpartition("@") if with_task else (word, "", "")
    parts = name.split("/")
    if len(parts) not in (2, 3) or not all(part.isdecimal() for part in (parts[0], *parts[2:])):
        suffix = "@TASK" if with_task else ""
        raise StudyFileError(
            f"--only: {word!r} is not of the form CONFIGURATION/ARM{suffix} or CONFIGURATION/ARM/REPLICATE{suffix}"
        )
    return TrialKey(int(parts[0]), parts[1], int(parts[2]) if len(parts) == 3 else 0, task)
