"""One sweep from its plan to its last trial, as the command line and `robustness.sweep` both run it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass

from robustness.api.machines import Machines
from robustness.api.progress_lines import ProgressLines, ScoringLines
from robustness.errors import StudyFileError, plural
from robustness.execution.protocol import Executor, StartInterrupted, never
from robustness.store.store import Store
from robustness.store.study_store import StudyStore
from robustness.study.study import Study
from robustness.sweep.outcomes import UNTRAINED_NOTE
from robustness.sweep.plan import Plan, make_plan
from robustness.sweep.progress import SweepProgress
from robustness.sweep.recording import SweepWatcher
from robustness.sweep.settling import settled
from robustness.sweep.shards import SHARD_NOTE, Shard
from robustness.sweep.stopping import STOPPED_NOTE
from robustness.sweep.sweep import SweepResult, sweep, terms_of
from robustness.sweep.untrained import covers, untrained_note
from robustness.sweep.winners import plan_winners
from robustness.trial import ENDED, NO_RESULT, TrialKey

Watch = Callable[[SweepProgress], AbstractContextManager[SweepWatcher]]


@dataclass(frozen=True)
class Listener:
    """Who hears about a running sweep, and may stop it."""

    watch: Watch = ProgressLines
    """Makes the display of a sweep's progress."""
    say: Callable[[str], None] = print
    """Prints a line about what happens."""
    warn: Callable[[str], None] = print
    """Prints a warning."""
    stop: Callable[[], bool] = never


def register(study: Study, plan: Plan, store: Store, machines: Machines) -> tuple[Study, Plan, StudyStore]:
    """Write a study and its plan to the store; returns them with what the machine decides about it settled."""
    chosen = settled(study, store, here=not machines.ray_address)
    if chosen != study:
        study, plan = chosen, make_plan(chosen)
    return study, plan, store.register(study, plan)


def rerun_failed(
    store: StudyStore, option: str, say: Callable[[str], None], arms: Collection[str] | None = None
) -> None:
    """Reset trials that ended without a result, of all arms or of some, to planned; the caller holds the lock.

    Raises StudyFileError, which names the `option`, for a sweep that was stopped on its evidence.
    """
    if store.note(STOPPED_NOTE):
        raise StudyFileError(
            f"{option}: this sweep was stopped early on its evidence, which further results would change; "
            f"run it without {option}"
        )
    with store.writer():
        pass  # Saves results that the last sweep could not write.
    say(f"{plural(store.reopen(NO_RESULT, arms), 'trial')} to rerun")


def run_sweep(
    study: Study,
    plan: Plan,
    store: StudyStore,
    executor: Executor,
    listener: Listener,
    only: Sequence[TrialKey] = (),
    shard: Shard | None = None,
) -> SweepResult | None:
    """Run the pending trials of a study, those of `only`, or those of a shard; the caller holds the study's lock.

    Returns None if it was interrupted before the first trial. Otherwise `left` counts the trials that were asked for.
    """
    wanted = shard.keys(plan) if shard is not None else list(only)
    if shard is not None:
        store.save_note(SHARD_NOTE, shard.note())
    elif not only:
        # A sweep that was killed after the last trial of its plan has yet to choose its winners.
        plan_winners(study.winners, plan, store)
    # Ray is not started if there is nothing left to run.
    pending = set(store.pending()) & set(wanted) if wanted else store.pending()
    if pending and executor.starting:
        listener.say(executor.starting)
    session = executor.session(plan.trials[0], terms_of(study)) if pending else nullcontext()
    with suppress(StartInterrupted), session:
        if not only:
            # It concerns the whole study, and takes longer than a trial or two.
            _set_baseline(study, plan, store, executor, listener)
        progress = SweepProgress.of(store)
        if shard is not None:
            progress.keep_only(wanted)
        with listener.watch(progress) as watcher:
            result = sweep(study, plan, store, executor, watcher, listener.stop, wanted)
        if not wanted:
            return result
        states = store.states()
        left = sum(states[key] not in ENDED for key in wanted)
        return SweepResult(result.run, left, result.not_successful, result.stopped)
    return None


def _set_baseline(study: Study, plan: Plan, store: StudyStore, executor: Executor, listener: Listener) -> None:
    """Measure the baseline of `learned_nothing`, once, unless the study file sets a threshold."""
    nothing, thresholded = study.outcomes.learned_nothing, study.outcomes.good
    known = store.note(UNTRAINED_NOTE)
    if nothing is None or thresholded is None or nothing.level is None or (known is not None and covers(known, plan)):
        return
    guessing = nothing.no_better_than_guessing is not None
    listener.say("scoring untrained networks and guesses as the baseline of learned_nothing")
    note = untrained_note(study, plan, executor, listener.stop, ScoringLines(listener.say))
    if note is None:
        return
    store.save_note(UNTRAINED_NOTE, note)
    good = thresholded.limit
    highest = max([note["threshold"], *(cell["value"] for cell in note.get("by_cell", {}).values())])
    if nothing.no_better_than_start is None and highest >= good:
        hint = f"; with no_better_than_guessing it would be {note['permutation']['point']:.3f}"
        listener.warn(
            f"the threshold of learned_nothing, {highest:.3f}, is not below that of good, {good:g}"
            + ("" if guessing else hint)
        )
