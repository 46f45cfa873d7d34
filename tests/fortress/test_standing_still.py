"""A sweep never waits in silence: what it lacks is said before the start, what it loses within seconds."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.processes import family, listeners, sweeping, wait_until_gone
from support.recording import Recording
from support.studies import store_url, write_study
from support.trainables import wait_for

from robustness.cli import main
from robustness.cli.interruption import interruptible
from robustness.execution.background import Abandoned, Background
from robustness.execution.protocol import ExecutionLost, Share, Terms
from robustness.execution.resources import ResourcesMissing, check_machine, fits, in_words, this_machine
from robustness.store import open_store
from robustness.trial import Trial

NOTICED_WITHIN = 30.0

LACKING: list[tuple[dict[str, Any], str]] = [
    ({"cpu": 4096}, "4,096 CPUs"),
    ({"cpu": 100_000}, "100,000 CPUs"),
    ({"gpu": 1}, "1 GPU"),
    ({"gpu": 0.5}, "0.5 GPUs"),
    ({"gpu": 0.25, "cpu": 1}, "0.25 GPUs"),
    ({"gpu": 8}, "8 GPUs"),
    ({"memory": 10_000_000}, "10,000,000 GB of memory"),
    ({"memory": 1e9}, "1,000,000,000 GB of memory"),
    ({"cpu": 4096, "gpu": 1}, "4,096 CPUs and 1 GPU"),
    ({"cpu": 4096, "gpu": 1, "memory": 1e9}, "4,096 CPUs, 1 GPU and 1,000,000,000 GB of memory"),
]


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustness.execution.resources._gpu_count", lambda: 0)


@pytest.mark.parametrize(("resources", "asked"), LACKING)
@pytest.mark.parametrize("options", [(), ("--workers", "3")])
def test_what_this_machine_lacks_is_said_before_anything_is_written(
    resources: dict[str, Any],
    asked: str,
    options: tuple[str, ...],
    tmp_path: Path,
    no_gpu: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = write_study(tmp_path, resources={"cpu": 1} | resources)
    assert main(["sweep", str(path), "--store", store_url(tmp_path), *options]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert re.search(f"resources: a trial asks for .*{re.escape(asked)}, but this machine has [0-9]+ CPUs?", line)
    assert not (tmp_path / "store.db").exists()


def test_inline_only_a_missing_gpu_is_refused(tmp_path: Path, no_gpu: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing waits for cores or memory there, and a trial of a larger machine can be reproduced on a laptop."""
    words = ["sweep", str(write_study(tmp_path)), "--store", store_url(tmp_path), "--inline", "--quiet", "--no-report"]
    assert main([*words, "--set", "resources.gpu=1"]) == 2
    assert "asks for 1 GPU, but this machine has" in capsys.readouterr().err
    assert main([*words, "--set", "resources.memory=100000"]) == 0


SHARES = st.builds(Share, st.integers(0, 8), st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]), st.integers(0, 64))
MACHINES = st.fixed_dictionaries(
    {"CPU": st.integers(0, 8)},
    optional={"GPU": st.integers(0, 2), "memory": st.integers(0, 64).map(lambda gb: gb * 1e9)},
)


@given(SHARES, st.lists(MACHINES, max_size=4))
def test_a_trial_fits_if_a_single_machine_has_all_of_it(share: Share, machines: list[dict[str, float]]) -> None:
    """Two machines with half each do not make one."""
    expected = False
    for machine in machines:
        enough = machine["CPU"] >= share.cpu
        enough = enough and machine.get("GPU", 0) >= share.gpu
        enough = enough and machine.get("memory", 0) >= share.memory * 1e9
        expected = expected or enough
    assert fits(share, machines) is expected


def test_this_machine_has_what_it_has() -> None:
    machine = this_machine(gpus=False)
    check_machine(Share(cpu=machine["CPU"], memory=machine["memory"] / 1e9 / 2))
    with pytest.raises(ResourcesMissing, match="GB of memory"):
        check_machine(Share(memory=machine["memory"] / 1e9 * 2))


@pytest.mark.parametrize(
    ("amounts", "words"),
    [
        ({}, "nothing"),
        ({"CPU": 1.0}, "1 CPU"),
        ({"CPU": 0.5, "GPU": 2.0}, "0.5 CPUs and 2 GPUs"),
        ({"CPU": 2.0, "GPU": 0.0, "memory": 21.94e9}, "2 CPUs, 0 GPUs and 21.9 GB of memory"),
    ],
)
def test_amounts_in_words(amounts: dict[str, float], words: str) -> None:
    assert in_words(amounts) == words


def trials(count: int = 2) -> Iterator[Trial]:
    return (Trial("s", 0, number, "arm", trainable="support.trainables:quick") for number in range(count))


@pytest.mark.xdist_group("ray")
@pytest.mark.parametrize("share", [Share(cpu=64), Share(gpu=3), Share(memory=10_000), Share(cpu=5, gpu=2)])
def test_what_a_cluster_lacks_is_said_at_once(share: Share, local_ray: None) -> None:
    from robustness.execution.tune import TuneExecutor

    start = time.monotonic()
    with pytest.raises(ResourcesMissing, match=r"a trial asks for .*, but .* has 4 CPUs"):
        TuneExecutor().run(trials(), Recording(), Terms(share=lambda _trial: share))
    assert time.monotonic() - start < 20


@pytest.mark.xdist_group("ray")
def test_a_cluster_that_can_grow_is_only_warned_about(local_ray: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from robustness.execution import ray_health, tune

    warnings: list[str] = []
    monkeypatch.setattr(tune, "autoscales", lambda: True)
    executor = tune.TuneExecutor(warn=warnings.append)
    with executor.session(next(trials()), Terms(share=lambda _trial: Share(gpu=5))):
        pass
    assert len(warnings) == 1
    assert warnings[0].endswith("trials wait until the cluster has grown")
    assert not ray_health.autoscales()


@pytest.mark.xdist_group("ray")
def test_lost_resources_a_silent_head_and_a_dead_node_end_the_run(
    local_ray: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from robustness.execution import ray_health

    health = ray_health.Health()
    try:
        health.check([Share(cpu=4), Share(gpu=2)])
        health.check([Share(cpu=64)])
        monkeypatch.setattr(ray_health, "HOMELESS_SECONDS", -1.0)
        with pytest.raises(ExecutionLost, match="asks for 64 CPUs, but the largest node of the Ray cluster has 4 CPUs"):
            health.check([Share(cpu=64)])
        monkeypatch.setattr(ray_health, "SILENCE_SECONDS", -1.0)
        health.check([])  # on a busy machine a head of our own may be slow, as long as its process lives
        monkeypatch.setattr(ray_health, "OWN_SILENCE_SECONDS", -1.0)
        with pytest.raises(ExecutionLost, match="the head of the Ray cluster has not answered"):
            health.check([])
        health._own_node_died = True
        with pytest.raises(ExecutionLost, match="the Ray node on this machine has died"):
            health.check([])
    finally:
        health.close()


def test_a_background_that_stands_still_is_abandoned() -> None:
    background, outcome = Background(), []

    def blocked() -> None:
        try:
            outcome.append(background.in_caller(lambda: 7))
            time.sleep(0.5)
            background.in_caller(lambda: outcome.append(8))
        except Abandoned:
            outcome.append(9)

    end = time.monotonic() + 0.3
    background.run(blocked, lambda: time.monotonic() < end)
    assert outcome == [7]
    limit = time.monotonic() + 10
    while len(outcome) < 2 and time.monotonic() < limit:
        time.sleep(0.02)
    assert outcome == [7, 9]


def test_tune_left_behind_cannot_start_ray_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would start by itself in the abandoned thread, without the token and open to other machines."""
    from ray._private import auto_init_hook

    from robustness.execution.ray_session import _started_by_us_alone

    monkeypatch.setattr(auto_init_hook, "enable_auto_connect", True)
    with _started_by_us_alone():
        assert not auto_init_hook.enable_auto_connect
    assert auto_init_hook.enable_auto_connect, "as before where nothing is left"

    ended = threading.Event()

    def goes_on_alone() -> None:
        ended.wait(60)

    with _started_by_us_alone():
        Background().run(goes_on_alone, lambda: False)
    assert not auto_init_hook.enable_auto_connect
    ended.set()


def test_nohup_keeps_its_effect() -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible() as interruption:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interruption()
    finally:
        signal.signal(signal.SIGHUP, previous)


OUR_LINES = re.compile(
    r"starting Ray \.\.\.|simulated: .*|Stopping\. Finished trials are saved.*|interrupted with .*"
    r"|robustness: .*|cut short; resume with: .*|"
)

EVENTS: dict[str, tuple[str | signal.Signals, int]] = {
    "SIGTERM to the group": (signal.SIGTERM, 130),
    "SIGHUP to the group": (signal.SIGHUP, 130),
    "Ctrl-C": (signal.SIGINT, 130),
    "raylet killed": ("raylet/raylet", 1),
    "head killed": ("gcs/gcs_server", 1),
    "agent killed": ("ray::RuntimeEnvAgent", 1),
}


@pytest.fixture(scope="module")
def running_sweeps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[subprocess.Popen[str], Path]]]:
    """For each event a sweep with its own local Ray, in the midst of an epoch that never ends; started together."""
    with ExitStack() as stack:
        started = {}
        for event in EVENTS:
            folder = tmp_path_factory.mktemp("sweep")
            path = write_study(folder, "never_ends", training={"folder": str(folder)})
            process = stack.enter_context(sweeping(path, "--store", store_url(folder), "--workers", "1"))
            started[event] = process, folder
        for _, folder in started.values():
            wait_for(folder / "0.begun", limit=240)
        yield started


@pytest.mark.xdist_group("cluster")
@pytest.mark.parametrize("event", EVENTS)
def test_a_sweep_ends_with_the_line_that_resumes_it(
    event: str, running_sweeps: dict[str, tuple[subprocess.Popen[str], Path]]
) -> None:
    process, folder = running_sweeps[event]
    what, code = EVENTS[event]
    processes = family(process.pid)
    found = listeners(processes)
    assert len(found) >= 5, "the head, the raylet, the driver and workers listen"
    assert {address for address, _ in found} <= {"127.0.0.1", "::1"}
    start = time.monotonic()
    if isinstance(what, signal.Signals):
        os.killpg(process.pid, what)
    else:
        (victim,) = (each for each, command in processes.items() if what in command)
        os.kill(victim, signal.SIGKILL)
    output, errors = process.communicate(timeout=120)
    assert time.monotonic() - start < NOTICED_WITHIN
    assert process.returncode == code, errors
    assert output == ""
    assert all(OUR_LINES.fullmatch(line) for line in errors.splitlines()), errors
    assert errors.splitlines()[-1].endswith(f"--store {store_url(folder)} --workers 1 --no-report")
    assert wait_until_gone(processes) == []
    with open_store(store_url(folder)) as store:
        assert store.study("simulated").counts() == {"planned": 10}
