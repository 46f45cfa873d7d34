"""`robustness.sweep`: a sweep from Python, of functions or of a study file.

result = robustness.sweep(
    {"sgd": train_sgd, "adam": train_adam},
    space={"lr": robustness.log(1e-4, 1), "width": [8, 32]},
    configurations=30, metric="accuracy", good=0.8, workers=2,
)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from robustness.api.function_study import check_changes, function_study, save_fingerprints
from robustness.api.machines import Machines
from robustness.api.progress_lines import ProgressLines, tell
from robustness.api.result import Result
from robustness.api.sweeping import Listener, register, rerun_failed, run_sweep
from robustness.errors import StudyFileError
from robustness.plugins import functions_provided
from robustness.store import open_store
from robustness.study.study import Study
from robustness.sweep.failed_trials import failed_trials, failure_lines
from robustness.sweep.plan import make_plan
from robustness.trainables.function.study import check_signatures

Functions = Mapping[str, Callable[..., Any]]


def sweep(
    arms: Functions | Study,
    space: Mapping[str, Any] | None = None,
    *,
    store: str | None = None,
    workers: int | None = None,
    ray_address: str | None = None,
    inline: bool = False,
    quiet: bool = False,
    retry: bool = False,
    accept_changes: bool = False,
    **options: Any,
) -> Result:
    """Run a sweep and return its result; the same call resumes a sweep that was interrupted.

    `arms` maps a label to the function that trains it, or is a study of `robustness.load_study`. A function takes a
    `Trial`, or the hyperparameters as keywords, and returns a number or a dictionary of measures, yields one for each
    epoch, or calls `trial.report(epoch, ...)`. `options` of functions are `configurations`, `metric`, `good`,
    `learned_nothing`, `seed` and others, which `help(robustness.sweep)` lists.

    `store` is the URL of the store (default: ROBUSTNESS_STORE or `sqlite:///robustness.db`). Trials run on Ray, at most
    `workers` at once, or in this process with `inline`. `retry` also reruns trials that failed, timed out or ran out of
    memory, discarding their stored results. `accept_changes` goes on with functions whose code has changed since the
    first results; an arm without any result may change freely, and its failed trials run again. Raises a one-line
    `RobustnessError` before anything runs if something does not fit.
    """
    machines = Machines(workers, ray_address, inline)
    with ExitStack() as stack:
        if isinstance(arms, Study):
            if space is not None or options:
                extra = "space" if space is not None else next(iter(options))
                raise StudyFileError(f"robustness.sweep: {extra!r} is part of the study file; change it there")
            study, functions = arms, None
        else:
            study, functions = function_study(arms, space, **options)
            stack.enter_context(functions_provided(study.name, functions))
        return _run(study, functions, store, machines, quiet, retry, accept_changes)


def _run(
    study: Study,
    functions: Functions | None,
    store: str | None,
    machines: Machines,
    quiet: bool,
    retry: bool,
    accept_changes: bool,
) -> Result:
    if study.search is not None:
        raise StudyFileError(f"the study {study.name!r} has a `search` section; run it with `robustness optimize`")
    machines.check(study)
    plan = make_plan(study)
    if functions is not None:
        check_signatures(plan.trials)
    listener = Listener(
        watch=lambda progress: ProgressLines(progress, quiet),
        say=lambda line: None if quiet else tell(line),
        warn=lambda line: tell(f"warning: {line}"),
    )
    executor = machines.executor(listener.warn)
    executor.check(study.name)
    mended: list[str] = []
    with open_store(store) as opened:
        if functions is not None and study.name in opened.names():
            mended = check_changes(functions, opened.study(study.name), accept_changes)
        study, plan, registered = register(study, plan, opened, machines)
        with registered.lock():
            if functions is not None:
                save_fingerprints(functions, registered)
            if retry or mended:
                rerun_failed(registered, "retry", listener.say, None if retry else mended)
            try:
                run_sweep(study, plan, registered, executor, listener)
            except KeyboardInterrupt:
                registered.plan_again()
                raise
        failures = failed_trials(registered.states(), registered.errors())
        for line in failure_lines(failures, "`result.trials` lists them, `retry=True` reruns them"):
            tell(line)
        return Result.of(registered)
