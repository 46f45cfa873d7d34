"""Trials on Ray Tune: on this machine's cores and GPUs, or on a cluster's.

Tune gets one pending trial at a time, in the order of the plan (first in, first out). A retry is a new Tune trial, so
Tune's own recovery, checkpoints and experiment state are not used.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, cast

import ray
from ray import tune
from ray.tune.experiment import Trial as TuneTrial
from ray.tune.schedulers import FIFOScheduler
from ray.tune.search import Searcher

from robustness.errors import RobustnessError
from robustness.execution.attempts import loads_task, timed_out
from robustness.execution.background import Abandoned, Background
from robustness.execution.protocol import (
    Ending,
    ExecutionLost,
    Observer,
    Share,
    Started,
    StartInterrupted,
    Terms,
    may_retry,
    never,
)
from robustness.execution.ray_health import Health, autoscales, machines
from robustness.execution.ray_session import check_cluster, cluster, connected, environment, no_warning
from robustness.execution.resources import ResourcesMissing, fits, missing
from robustness.execution.shared_data import share, size
from robustness.execution.shipped_functions import pickled
from robustness.execution.wording import error_line, why_lost
from robustness.execution.worker import ASSIGNMENT, EVENT, Assignment, TrialWorker
from robustness.trial import EpochResult, Trial

_GRACE = 2.0
"""Seconds after the timeout in which a worker can still end the trial between two epochs, before it is killed."""
_STOP_SECONDS = 10.0
"""Seconds after a stop in which Tune can still end by itself, before it is abandoned."""


@dataclass
class _Running:
    """A trial that a worker has started."""

    assignment: Assignment
    tune_trial: TuneTrial
    start: float
    killed: bool = False


class _Run:
    """The state of one `TuneExecutor.run`: trials to hand out, running trials, and any error in the driver.

    Tune's thread calls it; whatever concerns the observer, the trials or `stop` is done in the executor's own thread.
    """

    def __init__(
        self, trials: Iterator[Trial], observer: Observer, terms: Terms, stop: Callable[[], bool], share_data: bool
    ) -> None:
        self.trials = trials
        self.observer = observer
        self.terms = terms
        self.stop = stop
        self.share_data = share_data
        self.retries: deque[tuple[Trial, int]] = deque()
        self.handed_out: dict[str, Assignment] = {}
        self.running: dict[str, _Running] = {}
        self.error: BaseException | None = None
        self.stopping = False
        self.background = Background()
        self._data: dict[str, ray.ObjectRef[Any] | None] = {}
        self._functions: dict[str, ray.ObjectRef[bytes] | None] = {}
        self._folder = str(Path.cwd())
        self._import_path = tuple(dict.fromkeys(str(Path(folder).resolve()) for folder in sys.path))

    def next(self) -> Assignment | None:
        """Return the next attempt to hand to a worker: retries come before new trials."""
        if self.stopping:
            return None
        trial, number = self.retries.popleft() if self.retries else (next(self.trials, None), 1)
        if trial is None:
            return None
        share = self.terms.share(trial)
        return Assignment(
            trial,
            number,
            share,
            self.terms.trial_timeout,
            self._shared(trial),
            self._functions_of(trial),
            self._import_path,
            self._folder,
        )

    def _functions_of(self, trial: Trial) -> ray.ObjectRef[bytes] | None:
        if trial.study not in self._functions:
            data = pickled(trial.study)
            self._functions[trial.study] = None if data is None else ray.put(data)
        return self._functions[trial.study]

    def _shared(self, trial: Trial) -> ray.ObjectRef[Any] | None:
        if not self.share_data or not loads_task(trial):
            return None
        name = repr(sorted(trial.task.items()))
        if name not in self._data:
            self._data[name] = share(trial.task)
        return self._data[name]

    def guarded(self, work: Callable[[], None]) -> None:
        """Do a part of the driver's work in its thread; an exception ends the run cleanly instead of inside Tune."""
        self.background.in_caller(lambda: self._guarded(work))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self.error = self.error or error
            self.stopping = True

    def started(self, tune_trial: TuneTrial, where: Started) -> None:
        assignment = self.handed_out[tune_trial.trial_id]
        self.running[tune_trial.trial_id] = _Running(assignment, tune_trial, time.monotonic())
        if not self.stopping:
            self.guarded(lambda: self.observer.started(assignment.trial.key, assignment.number, where))

    def epoch(self, tune_id: str, result: EpochResult) -> bool:
        """Report an epoch; return whether the observer ends the trial with it."""
        running = self.running.get(tune_id)
        if self.stopping or running is None:
            return False
        reasons: list[str | None] = []
        self.guarded(lambda: reasons.append(self.observer.epoch(running.assignment.trial.key, result)))
        reason = reasons[0] if reasons else None
        if reason is None:
            return False
        self.ended(tune_id, Ending("pruned", reason, time.monotonic() - running.start))
        return True

    def ended(self, tune_id: str, ending: Ending) -> None:
        """Report the end of a trial, or queue a retry if it may have one. Later events for it are ignored."""
        self.running.pop(tune_id, None)
        assignment = self.handed_out.pop(tune_id, None)
        if assignment is None or self.stopping:
            return
        if may_retry(ending, assignment.number, self.terms):
            self.retries.append((assignment.trial, assignment.number + 1))
        else:
            self.guarded(lambda: self.observer.ended(assignment.trial.key, ending))

    def kill_overdue(self) -> None:
        """Kill overdue workers, or all of them on a stop: a worker cannot be told to stop in the middle of an epoch."""
        for running in list(self.running.values()):
            limit = running.assignment.timeout
            late = limit is not None and time.monotonic() - running.start > limit + _GRACE
            if (late or self.stopping) and not running.killed:
                running.killed = True
                actor = running.tune_trial.temporary_state.ray_actor
                if actor is not None:
                    ray.kill(actor)

    def check_stop(self) -> bool:
        """Ask, in the driver's own thread, whether to stop; returns whether the run is stopping."""
        if not self.stopping:
            self._guarded(self._ask_stop)
        return self.stopping

    def _ask_stop(self) -> None:
        self.stopping = self.stopping or self.stop()

    def waiting(self) -> list[Share]:
        """Return the shares of the trials that wait for a worker; none while others run, since these will leave."""
        return [] if self.running else [assignment.share for assignment in list(self.handed_out.values())]


class _PlanSearcher(Searcher):
    """Hands the trials of the plan to Tune lazily, so the driver holds only running and ended trials."""

    def __init__(self, run: _Run) -> None:
        super().__init__(metric="done", mode="max")
        self._run = run

    def suggest(self, trial_id: str) -> dict[str, Any] | None:
        assignments: list[Assignment | None] = []
        self._run.guarded(lambda: assignments.append(self._run.next()))
        if not assignments or assignments[0] is None:
            # Trials already handed out may still have to be retried.
            waiting = self._run.handed_out and not self._run.stopping
            return None if waiting else cast(dict[str, Any], Searcher.FINISHED)
        self._run.handed_out[trial_id] = assignments[0]
        return {ASSIGNMENT: assignments[0]}

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        pass

    def save(self, checkpoint_path: str) -> None:
        pass

    def restore(self, checkpoint_path: str) -> None:
        pass


class _FirstInFirstOut(FIFOScheduler):
    """Tune's FIFO scheduler without its scan of all ended trials at every step, which is quadratic over a sweep."""

    def choose_trial_to_run(self, tune_controller: Any) -> None:  # noqa: ARG002
        # Tune then takes the next trial from its own queue of pending trials, which is in order.
        return None


class _Messenger(tune.Callback):
    """Passes starts and ends to the observer, in the driver; never raises into Tune."""

    def __init__(self, run: _Run) -> None:
        self._run = run

    def on_step_begin(self, **_: Any) -> None:  # type: ignore[override]
        self._run.kill_overdue()

    def on_trial_result(self, trial: TuneTrial, result: dict[str, Any], **_: Any) -> None:  # type: ignore[override]
        event = result.pop(EVENT, None)
        if trial.trial_id not in self._run.handed_out:
            return
        if isinstance(event, Started):
            self._run.started(trial, event)
        elif isinstance(event, Ending):
            self._run.ended(trial.trial_id, event)

    def on_trial_complete(self, trial: TuneTrial, **_: Any) -> None:  # type: ignore[override]
        trial.config.pop(ASSIGNMENT, None)

    def on_trial_error(self, trial: TuneTrial, **_: Any) -> None:  # type: ignore[override]
        """Handle the death of a worker: killed when overdue, killed by the system, or lost with its node."""
        running = self._run.running.get(trial.trial_id)
        seconds = 0.0 if running is None else time.monotonic() - running.start
        if running is not None and running.killed and running.assignment.timeout is not None:
            self._run.ended(trial.trial_id, timed_out(running.assignment.timeout, seconds))
            return
        self._run.ended(trial.trial_id, Ending("failed", why_lost(trial.get_pickled_error()), seconds, retry=True))


class _Stopper(tune.Stopper):
    """Passes epochs to the observer, which may end the trial, and ends Tune's run once the driver is stopping.

    Tune calls it before the callbacks, while the worker waits for its next epoch, so a pruned trial stops at once.
    """

    def __init__(self, run: _Run) -> None:
        self._run = run

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        event = result.get(EVENT)
        return isinstance(event, EpochResult) and self._run.epoch(trial_id, event)

    def stop_all(self) -> bool:
        return self._run.stopping

    def __getstate__(self) -> dict[str, Any]:
        # Tune pickles the stopper into its experiment state, which is never read.
        return {}


class TuneExecutor:
    """Runs trials on Ray Tune, `workers` at a time or as many as the resources allow."""

    def __init__(
        self,
        workers: int | None = None,
        address: str | None = None,
        gpus: float | None = None,
        share_data: bool = True,
        warn: Callable[[str], None] = no_warning,
    ) -> None:
        self.workers = workers
        self.warn = warn
        self.address = address
        self.gpus = gpus
        self.share_data = share_data

    def run(self, trials: Iterator[Trial], observer: Observer, terms: Terms, stop: Callable[[], bool] = never) -> None:
        """Run the trials; an exception of the observer is raised after Tune has ended cleanly.

        Raises `ExecutionLost` if Ray is gone, and `ResourcesMissing` if the trials can run nowhere.
        """
        first = next(trials, None)
        if first is None:
            return
        run = _Run(chain((first,), trials), observer, terms, stop, self.share_data)
        try:
            with self.session(first, terms), _scratch_folder() as folder:
                self._run(run, folder)
        except StartInterrupted:
            if not stop():
                raise
        if run.error is not None:
            raise run.error

    @staticmethod
    def check_cluster(address: str) -> None:
        """Raise RayError at once if no cluster listens at the address."""
        check_cluster(address)

    def check(self, study: str) -> None:
        pickled(study)

    @property
    def starting(self) -> str:
        # Joining a cluster takes no time, and may be refused in one line.
        return "" if self.address else "starting Ray ..."

    @contextmanager
    def session(self, first: Trial, terms: Terms) -> Iterator[None]:
        """Connect to Ray, or start it, within the block; raises `ResourcesMissing` if trials would wait for ever."""
        cores = None if self.workers is None else math.ceil(self.workers * terms.share(first).cpu)
        with connected(self.address, cores, self.gpus, self._data_bytes(first), self.warn):
            self._check_resources(terms.share(first))
            yield

    def _check_resources(self, share: Share) -> None:
        nodes = machines()
        if fits(share, nodes):
            return
        line = missing(share, nodes, "the largest node of the Ray cluster" if self.address else "this machine")
        if not autoscales():
            raise ResourcesMissing(line)
        self.warn(f"{line}; trials wait until the cluster has grown")

    def _run(self, run: _Run, folder: str) -> None:
        """Run Tune in the background until it ends, until the driver stops, or until Ray is gone."""
        health = Health()
        deadline: list[float] = []

        def goes_on() -> bool:
            if run.check_stop():
                deadline.append(time.monotonic() + _STOP_SECONDS)
                return time.monotonic() < deadline[0] and health.lost() is None
            health.check(run.waiting())
            return True

        try:
            run.background.run(lambda: self._tune(run, folder), goes_on)
        except (Abandoned, RobustnessError):
            raise
        except Exception as error:
            if run.error is None and not run.stopping:
                raise ExecutionLost(health.lost() or f"Ray Tune failed: {error_line(error)}") from error
        finally:
            health.close()

    def _tune(self, run: _Run, folder: str) -> None:
        pending = self.workers or max(4, math.ceil(cluster("CPU", 1)))
        with environment({"TUNE_MAX_PENDING_TRIALS_PG": str(pending)}):
            tune.run(
                TrialWorker,
                name="trials",
                search_alg=_PlanSearcher(run),
                scheduler=_FirstInFirstOut(),  # type: ignore[no-untyped-call]
                callbacks=[_Messenger(run)],
                stop=_Stopper(run),
                num_samples=-1,
                max_concurrent_trials=self.workers,
                reuse_actors=True,
                raise_on_failed_trial=False,
                storage_path=folder,
                trial_name_creator=_name,
                trial_dirname_creator=_name,
                verbose=0,
                log_to_file=False,
            )

    def _data_bytes(self, trial: Trial) -> int:
        if ray.is_initialized() or self.address:
            return 0
        task = size(trial.task) if self.share_data and loads_task(trial) else 0
        return task + len(pickled(trial.study) or b"")


def _name(trial: TuneTrial) -> str:
    return str(trial.trial_id)


def _scratch_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="robustness-", ignore_cleanup_errors=True)
