"""How configurations were proposed: what the source records, else what a full grid shows, else a stated assumption."""

from __future__ import annotations

from dataclasses import replace

from robustness.importing.assembling import Runs
from robustness.importing.grids import absent_cells
from robustness.importing.options import ImportOptions

OPTIMISERS = ("optuna",)
"""Kinds of sources that are assumed to be optimisations; runs of all others are assumed to be drawn."""
RECORDERS = {
    "optuna": "Optuna does not record the sampler",
    "ray": "this experiment does not record the search algorithm",
    "mlflow": "MLflow does not record it",
    "wandb": "W&B's export does not record it",
    "tensorboard": "TensorBoard does not record it",
}
"""What does not record it, by the kind of source."""


def with_proposal(runs: Runs, options: ImportOptions) -> Runs:
    """The runs with `adaptive` known, and `assumed` where nothing tells."""
    if options.proposed is not None:
        return replace(runs, adaptive=options.proposed == "adaptively")
    if runs.adaptive is not None:
        return runs
    # Every cell of a full grid counts once, whoever chose the order.
    if _is_full_grid(runs):
        return replace(runs, adaptive=False)
    return replace(runs, adaptive=runs.kind in OPTIMISERS, assumed=True)


def proposal_note(runs: Runs, options: ImportOptions) -> str | None:
    """How the configurations were proposed, in the words of the import; None if they were drawn for certain."""
    if not runs.assumed:
        return "proposed adaptively, so fractions describe the search, not the space" if runs.adaptive else None
    why = RECORDERS.get(runs.kind, "the table does not record it")
    if runs.adaptive:
        other = f"drawn at random or from a grid, add {options.named('proposed', 'independently')}"
        return f"assumed: proposed adaptively ({why}); if the configurations were {other}"
    other = f"proposed from earlier results, add {options.named('proposed', 'adaptively')}"
    return f"assumed: proposed independently ({why}); if the configurations were {other}"


def _is_full_grid(runs: Runs) -> bool:
    """Whether every combination of values was run, and each equally often."""
    absent = absent_cells(runs)
    sizes = runs.frame.groupby(["task", "configuration", "arm"]).size()
    return absent is not None and absent.rows.empty and sizes.nunique() == 1
