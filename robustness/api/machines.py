"""Where trials run: in this process, on this machine by Ray, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robustness.execution.authentication import refuse_open_mode
from robustness.execution.inline import InlineExecutor
from robustness.execution.protocol import Executor, Share
from robustness.execution.resources import check_machine
from robustness.study.study import Study
from robustness.sweep.settling import settled

if TYPE_CHECKING:
    from robustness.execution.tune import TuneExecutor


@dataclass(frozen=True)
class Machines:
    """Where to run the trials of a study."""

    workers: int | None = None
    """Most trials at once; None is as many as the resources allow."""
    ray_address: str | None = None
    """A running Ray cluster to join, `auto` or HOST:PORT; None starts Ray on this machine."""
    inline: bool = False
    """One trial after another in this process, without Ray."""

    def check(self, study: Study) -> None:
        """Raise, before anything is written, if trials could not run here, or only with doors open to others."""
        if self.ray_address:
            _tune_executor().check_cluster(self.ray_address)
            return
        resources = study.resources
        gpu = 0.0 if resources.gpu == "auto" else resources.gpu
        if self.inline:
            check_machine(Share(cpu=0.0, gpu=gpu))
        else:
            refuse_open_mode()
            check_machine(Share(resources.cpu, gpu, resources.memory or 0.0))
        settled(study, None)

    def executor(self, warn: Callable[[str], None], workers: int | None = None) -> Executor:
        """Return the executor; `workers` is how many trials run at once unless the user has set it."""
        if self.inline:
            return InlineExecutor()
        return _tune_executor()(self.workers or workers, self.ray_address, warn=warn)


def _tune_executor() -> type[TuneExecutor]:
    from robustness.execution.tune import TuneExecutor  # Ray: trials in this process do without it

    return TuneExecutor
