"""The vocabulary of trackers: prefixes, bookkeeping columns, usual names and statuses."""

from __future__ import annotations

from robustness.trial import Status

HYPERPARAMETER_PREFIXES = ("params_", "params.", "params/", "config/", "config.", "hp_config.", "hparams.", "hparams/")
"""Prefixes of hyperparameters: Optuna, MLflow, Ray and W&B, Hydra's and Lightning's exports."""
MEASURE_PREFIXES = ("metrics.", "metrics/", "summary.", "summary/", "summary_")
IGNORED_PREFIXES = ("tags.", "tags/", "user_attrs_", "system_attrs_", "system.", "system/", "_", "Unnamed: ")

ARM_COLUMNS = ("arm", "method")
METRIC_COLUMNS = ("metric", "value")
STATUS_COLUMNS = ("status", "state")
SEED_COLUMNS = ("seed", "replicate", "random_seed")
TASK_COLUMNS = ("task",)
EPOCH_COLUMNS = ("epoch", "training_iteration", "step")
RUN_COLUMNS = ("run_id", "trial_id", "run", "id", "number", "name")
STARTED_COLUMNS = ("started", "start_time", "datetime_start", "created")
ENDED_COLUMNS = ("ended", "end_time", "datetime_complete")
SECONDS_COLUMNS = ("seconds", "runtime", "time_total_s")

BOOKKEEPING = frozenset(
    (
        # W&B
        *(
            "name",
            "id",
            "agent",
            "state",
            "notes",
            "user",
            "tags",
            "created",
            "updated",
            "runtime",
            "sweep",
            "hostname",
        ),
        *(
            "description",
            "commit",
            "github",
            "gpu type",
            "gpu count",
            "cpu count",
            "end time",
            "start time",
            "job type",
        ),
        *("group", "host", "relative time (process)", "relative time (wall)", "wall time", "project", "entity", "url"),
        # Optuna
        *("number", "value", "datetime_start", "datetime_complete", "duration"),
        # Ray
        *("pid", "date", "timestamp", "time_this_iter_s", "time_total_s", "time_since_restore", "node_ip", "trial_id"),
        *("iterations_since_restore", "training_iteration", "experiment_id", "experiment_tag", "logdir", "done"),
        *("checkpoint_dir_name", "should_checkpoint", "timesteps_total", "episodes_total", "warmup_time", "hostname"),
        # MLflow
        *("run_id", "run_name", "artifact_uri", "start_time", "end_time", "lifecycle_stage", "user_id", "source"),
        # robustness
        *("seconds", "status", "started", "ended", "worker", "device", "attempts", "error"),
    )
)
"""Columns, in lower case, that are no hyperparameters unless they are named as such."""

LOSSES = ("loss", "error", "nll", "rmse", "mse", "mae", "perplexity", "regret", "cross_entropy")
"""Parts of a metric's name that suggest that less is better."""

STATUSES: dict[str, Status | None] = {
    **dict.fromkeys(
        ("", "finished", "complete", "completed", "done", "terminated", "success", "nan", "none"), "finished"
    ),
    **dict.fromkeys(("failed", "fail", "crashed", "killed", "error", "errored", "preempted", "cancelled"), "failed"),
    **dict.fromkeys(("diverged", "nan_loss"), "diverged"),
    **dict.fromkeys(("out_of_memory", "oom"), "out_of_memory"),
    **dict.fromkeys(("timed_out", "timeout", "time_out"), "timed_out"),
    "pruned": "pruned",
    **dict.fromkeys(("running", "waiting", "planned", "pending", "scheduled", "queued", "paused"), "planned"),
}
"""Statuses of trackers in lower case; a run with another one is judged by its metric."""


def unprefixed(column: str) -> tuple[str, str | None]:
    """The name in a column and what its prefix says: `hyperparameter`, `measure`, `ignored`, or None."""
    for prefixes, role in ((HYPERPARAMETER_PREFIXES, "hyperparameter"), (MEASURE_PREFIXES, "measure")):
        for prefix in prefixes:
            if column.startswith(prefix) and len(column) > len(prefix):
                return column.removeprefix(prefix), role
    return column, "ignored" if column.startswith(IGNORED_PREFIXES) else None
