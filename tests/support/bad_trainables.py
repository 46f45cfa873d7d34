"""A trainable that misbehaves in the way that its hyperparameter `fault` names, and how each such trial must end."""

from __future__ import annotations

import contextlib
import ctypes
import decimal
import fractions
import math
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robustness.errors import Diverged
from robustness.trial import EpochResult, Trial

METRIC = "validation_auc"
NOTES: list[str] = []
"""The folders for the notes of trials that ran in this process; the last is the newest."""


class Fault(NamedTuple):
    """What a trial does, and how it ends."""

    does: Callable[[Trial], Any]
    status: str
    says: str = ""
    """A regular expression for the last line of its error."""
    retried: bool = False
    ends_process: bool = False


def measures(*values: Any) -> Callable[[Trial], Iterator[EpochResult]]:
    """Yields a good epoch, and then these values as measures, whatever they are."""

    def does(trial: Trial) -> Iterator[EpochResult]:
        yield EpochResult(1, {METRIC: 0.6})
        for epoch, value in enumerate(values, start=2):
            yield EpochResult(epoch, value)

    return does


def metric(value: Any) -> Callable[[Trial], Iterator[EpochResult]]:
    """Yields a good epoch and then one whose metric is this value."""
    return measures({METRIC: value})


def tensor(*values: float) -> Callable[[Trial], Iterator[EpochResult]]:
    """Yields a good epoch and then one whose metric is a tensor of these values: a scalar if there is one of them."""

    def does(trial: Trial) -> Iterator[EpochResult]:
        import torch  # the other faults need no torch, and start much faster without it

        made = torch.tensor(values[0] if len(values) == 1 else values, requires_grad=True)
        yield from metric(made)(trial)

    return does


def epochs(*numbers: Any) -> Callable[[Trial], Iterator[EpochResult]]:
    """Yields epochs of these numbers."""
    return lambda _trial: (EpochResult(number, {METRIC: 0.6}) for number in numbers)


def results(*given: Any) -> Callable[[Trial], Iterator[Any]]:
    """Yields these objects as they are."""
    return lambda _trial: iter(given)


def raises(error: BaseException) -> Callable[[Trial], Iterator[EpochResult]]:
    """Raises after an epoch."""

    def does(trial: Trial) -> Iterator[EpochResult]:
        yield EpochResult(1, {METRIC: 0.6})
        raise error

    return does


def after(work: Callable[[], Any]) -> Callable[[Trial], Iterator[EpochResult]]:
    """Does something between two good epochs."""

    def does(trial: Trial) -> Iterator[EpochResult]:
        yield EpochResult(1, {METRIC: 0.6})
        work()
        yield EpochResult(2, {METRIC: 0.7})

    return does


class Broken(Exception):
    """An exception that cannot be printed, pickled or compared."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__

    def __reduce__(self) -> str:
        raise TypeError("no pickle")


class Endless(Mapping[str, float]):
    """A mapping without an end that claims to be small."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, name: str) -> float:
        return 0.5

    def __iter__(self) -> Iterator[str]:
        number = 0
        while True:
            yield f"measure {number}"
            number += 1


class Text(str):
    """A text with an unprintable face."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__


def many(count: int) -> dict[str, float]:
    return {METRIC: 0.6} | {f"m{number}": 0.5 for number in range(count)}


def numpy_overflows() -> None:
    with np.errstate(all="raise"):
        np.float64(1e200) ** 2


def recurse() -> None:
    recurse()


def waits_for_ever() -> None:
    while True:
        time.sleep(3600)


def ignores_everything(trial: Trial) -> Iterator[EpochResult]:
    """Catches whatever would end it, for a minute or for the seconds that `training.ignores` names."""
    yield EpochResult(1, {METRIC: 0.6})
    seconds = float(trial.training.get("ignores", 60))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(BaseException):
            time.sleep(seconds)
    yield EpochResult(2, {METRIC: 0.7})


def leaves_child() -> None:
    note("child", os.posix_spawnp("sleep", ["sleep", "4321"], os.environ))


def leaves_fork() -> None:
    child = os.fork()
    if not child:
        os.setsid()
        time.sleep(4321)
        os._exit(0)
    note("child", child)


def dies_with_child() -> None:
    leaves_child()
    os.kill(os.getpid(), signal.SIGKILL)


def leaves_thread() -> None:
    threading.Thread(target=time.sleep, args=(600,), daemon=False).start()


def note(kind: str, value: object) -> None:
    """Leave a note in the folder of the trial that runs in this process."""
    if NOTES:
        with (Path(NOTES[-1]) / kind).open("a") as file:
            file.write(f"{value}\n")


def writes_binary() -> None:
    os.write(1, bytes(range(256)) * 16)
    os.write(2, b"\x1b]0;title\x07\x1b[2J" + bytes(range(128, 256)))


def writes_much() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    for _ in range(200):
        os.write(1, b"x" * 65536)


def changes_the_process() -> None:
    os.chdir("/")
    os.umask(0o777)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    sys.setrecursionlimit(200)
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002


def closes_output() -> None:
    os.close(1)
    os.close(2)


def redirects_output() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.stdout = None


def segfaults() -> None:
    ctypes.string_at(0)


async def coroutine(trial: Trial) -> None:
    """A coroutine function is no trainable."""


def refuses_to_end(trial: Trial) -> Iterator[EpochResult]:
    """A generator that yields on while it is closed."""
    try:
        yield EpochResult(1, {METRIC: math.nan})
    finally:
        yield EpochResult(2, {METRIC: 0.5})


NAN, INF = math.nan, math.inf
BIG = "x" * 10_000_000
NOT_A_NUMBER = f"the measure '{METRIC}' is .*, not a number"

FAULTS: dict[str, Fault] = {
    # Measures that are no numbers.
    "text": Fault(metric("n/a"), "failed", f"^epoch 2: the measure '{METRIC}' is 'n/a', not a number$"),
    "numeric text": Fault(metric("0.5"), "failed", NOT_A_NUMBER),
    "bytes": Fault(metric(b"0.5"), "failed", NOT_A_NUMBER),
    "huge text": Fault(metric(BIG), "failed", NOT_A_NUMBER),
    "control characters": Fault(metric("\x1b[31mred\r\n\u202e"), "failed", NOT_A_NUMBER),
    "unprintable text": Fault(metric(Text("x")), "failed", "is a Text, not a number"),
    "nothing": Fault(metric(None), "failed", "is None, not a number"),
    "dict": Fault(metric({"mean": 0.5}), "failed", "is a dict, not a number"),
    "nested": Fault(metric([[[0.5]]]), "failed", "is a list, not a number"),
    "tuple": Fault(metric((0.5,)), "failed", "is a tuple, not a number"),
    "complex": Fault(metric(1 + 2j), "failed", NOT_A_NUMBER),
    "numpy complex": Fault(metric(np.complex64(1)), "failed", NOT_A_NUMBER),
    "array of one": Fault(metric(np.array([0.5])), "failed", "is a ndarray, not a number"),
    "array of text": Fault(metric(np.array("0.5")), "failed", NOT_A_NUMBER),
    "date": Fault(metric(np.datetime64("2020-01-01")), "failed", NOT_A_NUMBER),
    "huge integer": Fault(metric(10**400), "failed", "is a huge integer, not a number"),
    "tensor of two": Fault(tensor(0.5, 0.5), "failed", "is a Tensor, not a number"),
    "function": Fault(metric(lambda: 0.5), "failed", "is a function, not a number"),
    "second measure is bad": Fault(measures({METRIC: 0.5, "nll": "?"}), "failed", "measure 'nll' is '\\?'"),
    # Measures that are no mapping, or one that cannot be stored.
    "measures are a list": Fault(measures([0.5]), "failed", "measures must map names to numbers, found a list"),
    "measures are a number": Fault(measures(0.5), "failed", "measures must map names to numbers, found 0.5"),
    "measures are None": Fault(measures(None), "failed", "measures must map names to numbers, found None"),
    "ten thousand measures": Fault(measures(many(10_000)), "failed", "more than 1,000 measures"),
    "endless measures": Fault(measures(Endless()), "failed", "more than 1,000 measures"),
    "number as a name": Fault(measures({7: 0.5}), "failed", "the names of measures must be text, found 7"),
    "empty name": Fault(measures({"": 0.5}), "failed", "cannot name"),
    "long name": Fault(measures({"n" * 201: 0.5}), "failed", "cannot name"),
    "name with NUL": Fault(measures({"a\0b": 0.5}), "failed", "cannot name"),
    "name with a surrogate": Fault(measures({"\ud800": 0.5}), "failed", "cannot name"),
    "name with escapes": Fault(measures({"\x1b[31m": 0.5}), "failed", "cannot name"),
    "name of the encoding": Fault(measures({"$float": 0.5}), "failed", "cannot name"),
    # Epochs.
    "epoch is text": Fault(epochs("1"), "failed", "must be an integer from 0 to 2147483647, not '1'"),
    "epoch is a float": Fault(epochs(1.0), "failed", "must be an integer"),
    "epoch is a truth value": Fault(epochs(True), "failed", "must be an integer .* not True"),
    "epoch is None": Fault(epochs(None), "failed", "must be an integer"),
    "epoch is negative": Fault(epochs(-1), "failed", "must be an integer"),
    "epoch is huge": Fault(epochs(2**63), "failed", "must be an integer"),
    "epoch is NaN": Fault(epochs(NAN), "failed", "must be an integer"),
    "epoch is a list": Fault(epochs([1]), "failed", "must be an integer"),
    "epoch twice": Fault(epochs(1, 2, 2), "failed", "epoch 2 follows epoch 2"),
    "epochs backwards": Fault(epochs(5, 4), "failed", "epoch 4 follows epoch 5"),
    "no epochs": Fault(epochs(), "failed", "^the trainable yielded no epoch$"),
    # Other fields.
    "seconds are text": Fault(results(EpochResult(1, {}, seconds="1")), "failed", "seconds must be"),  # type: ignore[arg-type]
    "seconds are negative": Fault(results(EpochResult(1, {}, seconds=-1.0)), "failed", "seconds must be"),
    "seconds are NaN": Fault(results(EpochResult(1, {}, seconds=NAN)), "failed", "seconds must be"),
    "pretraining is text": Fault(results(EpochResult(1, {}, "yes")), "failed", "pretraining must be"),  # type: ignore[arg-type]
    "curve is text": Fault(results(EpochResult(1, {}, curves={"c": "abc"})), "failed", "not a sequence"),  # type: ignore[dict-item]
    "curve of text": Fault(results(EpochResult(1, {}, curves={"c": ["a"]})), "failed", "not a number"),  # type: ignore[list-item]
    "curve is a number": Fault(results(EpochResult(1, {}, curves={"c": 1.0})), "failed", "not a sequence"),  # type: ignore[dict-item]
    "curve is a matrix": Fault(results(EpochResult(1, {}, curves={"c": np.eye(2)})), "failed", "not a number"),  # type: ignore[dict-item]
    "curve is too long": Fault(results(EpochResult(1, {}, curves={"c": np.zeros(1_000_001)})), "failed", "too long"),  # type: ignore[dict-item]
    "curves are a list": Fault(results(EpochResult(1, {}, curves=[1.0])), "failed", "curves must map"),  # type: ignore[arg-type]
    # Not a result at all.
    "yields a dict": Fault(results({METRIC: 0.5}), "failed", "yielded a dict instead of an EpochResult"),
    "yields a number": Fault(results(0.5), "failed", "yielded 0.5 instead of an EpochResult"),
    "yields None": Fault(results(None), "failed", "yielded None instead of an EpochResult"),
    "yields a class": Fault(results(EpochResult), "failed", "yielded a type instead of an EpochResult"),
    "returns a number": Fault(lambda _trial: 0.5, "failed", "returned 0.5 instead of yielding"),
    "returns None": Fault(lambda _trial: None, "failed", "returned None instead of yielding"),
    "returns a result": Fault(lambda _trial: EpochResult(1, {}), "failed", "returned an EpochResult instead"),
    "returns text": Fault(lambda _trial: "done", "failed", "returned 'done' instead of yielding"),
    "returns a coroutine": Fault(coroutine, "failed", "returned a coroutine instead of yielding"),
    "other measures alone": Fault(results(EpochResult(1, {"nll": 0.5})), "failed", f"metric, '{METRIC}'"),
    "pre-training alone": Fault(results(EpochResult(1, {METRIC: 0.5}, True)), "failed", "after pre-training"),
    # Divergence.
    "NaN": Fault(metric(NAN), "diverged", "validation_auc is NaN in epoch 2"),
    "infinite": Fault(metric(INF), "diverged", "validation_auc is infinite"),
    "minus infinite": Fault(metric(-INF), "diverged", "validation_auc is infinite"),
    "very large": Fault(metric(1e308), "diverged", r"is infinite or beyond ±1e\+60 in epoch 2"),
    "very small": Fault(metric(-1e308), "diverged", r"is infinite or beyond ±1e\+60 in epoch 2"),
    "numpy NaN": Fault(metric(np.float32("nan")), "diverged", "is NaN"),
    "infinite loss": Fault(measures({METRIC: 0.5, "loss": INF}), "diverged", "the loss is infinite"),
    "says so": Fault(raises(Diverged(2, 3)), "diverged", "the loss is not finite"),
    "yields while closed": Fault(refuses_to_end, "diverged", "is NaN"),
    "overflows": Fault(after(lambda: 1e200**2), "diverged", "^OverflowError: "),
    "numpy overflows": Fault(after(numpy_overflows), "diverged", "^FloatingPointError: overflow"),
    # Raised errors; another attempt may succeed.
    "raises": Fault(raises(ValueError("a fault")), "failed", "^ValueError: a fault$", retried=True),
    "many lines": Fault(
        raises(ValueError("one\ntwo\r\n\x1b[2Jthree")), "failed", r"^ValueError: one two \\x1b\[2Jthree$", True
    ),
    "huge message": Fault(raises(ValueError(BIG)), "failed", "^ValueError: x+…$", retried=True),
    "unprintable error": Fault(raises(Broken()), "failed", "^Broken: ", retried=True),
    "group of errors": Fault(raises(ExceptionGroup("two", [ValueError(), Broken()])), "failed", "two", True),
    "exits with 0": Fault(raises(SystemExit(0)), "failed", r"called sys.exit\(0\)$", retried=True),
    "exits with 3": Fault(raises(SystemExit(3)), "failed", r"called sys.exit\(3\)$", retried=True),
    "exits with text": Fault(raises(SystemExit("\x1b[bye")), "failed", r"called sys.exit\('\\x1b\[bye'\)$", True),
    "interrupts": Fault(raises(KeyboardInterrupt()), "failed", "^KeyboardInterrupt$", retried=True),
    "closes itself": Fault(raises(GeneratorExit()), "failed", "^GeneratorExit$", retried=True),
    "stops the iteration": Fault(
        raises(StopIteration()), "failed", "RuntimeError: generator raised StopIteration", True
    ),
    "recursion": Fault(after(recurse), "failed", "^RecursionError: ", retried=True),
    "memory": Fault(raises(MemoryError()), "out_of_memory", "MemoryError"),
    "hangs": Fault(after(waits_for_ever), "timed_out", "took longer than trial_timeout"),
    "catches everything": Fault(ignores_everything, "timed_out", "took longer than trial_timeout"),
    # Odd, but right.
    "numpy scalar": Fault(metric(np.float32(0.5)), "finished"),
    "array without dimensions": Fault(metric(np.array(0.5)), "finished"),
    "tensor without dimensions": Fault(tensor(0.5), "finished"),
    "fraction": Fault(metric(fractions.Fraction(1, 2)), "finished"),
    "decimal": Fault(metric(decimal.Decimal("0.5")), "finished"),
    "integer": Fault(metric(1), "finished"),
    "other measures very large": Fault(
        measures({METRIC: 0.5, "nll": 1e308, "brier": -1e308, "train_auc": INF, "own": NAN}), "finished"
    ),
    "numpy epoch": Fault(epochs(np.int64(1), np.uint8(2)), "finished"),
    "epoch 0": Fault(epochs(0), "finished"),
    "a list": Fault(lambda _trial: [EpochResult(1, {METRIC: 0.5})], "finished"),
    "names in any script": Fault(
        measures({METRIC: 0.5, "Genauigkeit äöü 精度": 0.5, "epoch": 1.0, "arm": 2.0, "self": 3.0}), "finished"
    ),
    "a thousand measures": Fault(measures(many(999)), "finished"),
    "child left behind": Fault(after(leaves_child), "finished"),
    "fork left behind": Fault(after(leaves_fork), "finished"),
    "thread left behind": Fault(after(leaves_thread), "finished"),
    "changed process": Fault(after(changes_the_process), "finished"),
    "binary output": Fault(after(writes_binary), "finished"),
    "much output": Fault(after(writes_much), "finished"),
    "closed output": Fault(after(closes_output), "finished"),
    "redirected output": Fault(after(redirects_output), "finished"),
    # The end of the process that runs the trial.
    "leaves at once": Fault(after(lambda: os._exit(0)), "failed", "worker process died", True, True),
    "killed": Fault(after(lambda: os.kill(os.getpid(), signal.SIGKILL)), "failed", "worker process died", True, True),
    "killed with a child": Fault(after(dies_with_child), "failed", "worker process died", True, True),
    "aborts": Fault(after(os.abort), "failed", "worker process died", True, True),
    "segmentation fault": Fault(after(segfaults), "failed", "worker process died", True, True),
}
"""Every fault by its name."""

IN_PROCESS = [name for name, fault in FAULTS.items() if not fault.ends_process]
SHORT = [name for name in IN_PROCESS if FAULTS[name].status != "timed_out" and "left behind" not in name]


def misbehaves(trial: Trial) -> Any:
    """The trainable: does what the hyperparameter `fault` names."""
    if "folder" in trial.training:
        NOTES.append(str(trial.training["folder"]))
    return FAULTS[str(trial.hyperparameters["fault"])].does(trial)
