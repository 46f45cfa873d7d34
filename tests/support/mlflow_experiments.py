"""An experiment of MLflow in a file store and in SQLite, made by MLflow: `python mlflow_experiments.py FOLDER`."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
os.environ["GIT_PYTHON_REFRESH"] = "quiet"

# It reads its environment when it is imported.
import mlflow


def fill() -> None:
    mlflow.set_experiment("comparison")
    for method in ("adam", "sgd"):
        for rate in (0.1, 0.01, 10.0):
            with mlflow.start_run() as run:
                mlflow.log_params({"method": method, "rate": rate, "net/width": 16})
                mlflow.set_tag("note", "tag")
                for step in range(3):
                    value = math.nan if rate == 10 and step == 2 else rate * (step + 1) + len(method)
                    mlflow.log_metric("val/accuracy", value, step=step)
                mlflow.log_metric("other", 1.0)
            if method == "sgd" and rate == 0.01:
                mlflow.MlflowClient().set_terminated(run.info.run_id, status="FAILED")


def main(folder: str) -> None:
    read = {}
    for name, uri in (("files", Path(folder, "mlruns").as_uri()), ("database", f"sqlite:///{folder}/mlflow.db")):
        mlflow.set_tracking_uri(uri)
        fill()
        client = mlflow.MlflowClient()
        experiment = client.get_experiment_by_name("comparison")
        assert experiment is not None
        read[name] = [
            {
                "status": run.info.status,
                "params": run.data.params,
                "start": run.info.start_time,
                "curve": [[m.step, m.value] for m in client.get_metric_history(run.info.run_id, "val/accuracy")],
            }
            for run in client.search_runs([experiment.experiment_id])
        ]
    Path(folder, "read.json").write_text(json.dumps(read))


if __name__ == "__main__":
    main(sys.argv[1])
