from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import optuna
import pytest

from report.analysis import analyse
from report.page import write_report
from robustness.cli import main
from robustness.store import open_store

THRESHOLDS = ["--good", "0.8", "--learned-nothing", "0.6"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROBUSTNESS_STORE", f"sqlite:///{tmp_path / 'runs.db'}")
    return tmp_path


def results(study: str = "elsewhere") -> dict[str, Any]:
    with open_store(create=False) as store:
        return dict(analyse(store.study(study)).results)


def write(text: str, name: str = "runs.csv") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


PLAIN = """arm,learning_rate,batch_size,metric,status
mfvi,0.1,16,0.55,finished
radial,0.1,16,0.85,finished
mfvi,0.01,16,0.7,finished
radial,0.01,16,0.9,finished
mfvi,0.01,32,,out_of_memory
radial,0.01,32,0.81,finished
mfvi,0.001,32,nan,diverged
radial,0.001,32,0.65,finished
"""


def test_runs_of_one_configuration_are_paired_and_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", write(PLAIN), "--study", "elsewhere", *THRESHOLDS]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "imported 8 runs of 2 arms (mfvi, radial) in 4 configurations",
        "write the report with: robustness report elsewhere",
    ]
    found = results()
    assert found["sampling"]["pairs"] == 3
    assert found["arms"]["mfvi"]["learned_nothing"]["count"] == 2
    assert found["arms"]["radial"]["good"]["count"] == 2
    assert found["left_out"]["by_arm"]["mfvi"] == {"out_of_memory": 1}
    assert set(found["sensitivity"]["hyperparameters"]) == {"learning_rate", "batch_size"}


def test_imported_runs_have_a_page(here: Path) -> None:
    main(["import", write(PLAIN), "--study", "elsewhere", *THRESHOLDS])
    with open_store(create=False) as store:
        page = write_report(store.study("elsewhere"), here / "page.html").read_text(encoding="utf-8")
    assert "radial" in page


def test_importing_the_same_file_again_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["import", write(PLAIN), "--study", "elsewhere", *THRESHOLDS]
    assert main(words) == 0
    before = results()
    assert main(words) == 0
    assert results() == before


def test_optunas_own_table_is_understood(here: Path) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for arm, shift in (("mfvi", 0.0), ("radial", 0.1)):
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GridSampler({"x": [1, 2, 3]}, seed=0))

        def objective(trial: optuna.Trial, shift: float = shift) -> float:
            return 0.5 + shift + 0.1 * trial.suggest_int("x", 1, 3)

        study.optimize(objective, n_trials=3)
        study.trials_dataframe().to_csv(here / f"{arm}.csv", index=False)
    assert main(["import", "mfvi=mfvi.csv", "radial=radial.csv", "--study", "elsewhere", *THRESHOLDS]) == 0
    found = results()
    assert found["sampling"]["pairs"] == 3
    assert found["arms"]["radial"]["best"] == pytest.approx(0.9)
    assert set(found["sensitivity"]["hyperparameters"]) == {"x"}


def test_wandbs_export_is_understood() -> None:
    text = (
        '"Name","State","Created","Runtime","method","lr","val/auc"\n'
        '"a-1","finished","2024-01-01T00:00:00Z","12","mfvi","0.1","0.5"\n'
        '"b-2","finished","2024-01-01T00:00:00Z","13","radial","0.1","0.9"\n'
        '"c-3","crashed","2024-01-01T00:00:00Z","1","mfvi","0.01",""\n'
        '"d-4","finished","2024-01-01T00:00:00Z","14","radial","0.01","NaN"\n'
    )
    assert (
        main(
            ["import", write(text), "--study", "elsewhere", "--metric", "val/auc", "--missing", "left-out", *THRESHOLDS]
        )
        == 0
    )
    found = results()
    assert (found["metric"], found["sampling"]["pairs"]) == ("val/auc", 1)
    assert found["left_out"]["by_arm"]["mfvi"] == {"failed": 1}
    assert found["arms"]["radial"]["counted"] == 1


def test_repeated_runs_become_replicates() -> None:
    text = "arm,lr,metric\nmfvi,1,0.5\nmfvi,1,0.7\nradial,1,0.9\nradial,1,0.8\n"
    assert main(["import", write(text), "--study", "elsewhere", *THRESHOLDS]) == 0
    assert results()["sampling"]["replicates"] == 2


@pytest.mark.parametrize(
    ("text", "more", "says"),
    [
        ("arm,lr\nmfvi,1\n", [], "no column 'metric' or 'value'"),
        ("arm,lr,auc\nmfvi,1,0.5\n", ["--metric", "auk"], "did you mean 'auc'?"),
        ("lr,metric\n1,0.5\n", [], "no column 'arm' or 'method'"),
        ("arm,lr,metric\nmfvi,1,high\n", [], "line 2: metric: 'high' is not a number"),
        ("arm,lr,metric\n", [], "has no rows"),
        ("arm,lr,loss,metric\nmfvi,1,0.31,0.5\nradial,1,0.32,0.6\n", [], "is 'loss' a hyperparameter or a measure?"),
        ("arm,lr,metric\nmfvi,1,0.5\n", ["--good", "0.1"], "must not be above --good"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], text: str, more: list[str], says: str
) -> None:
    assert main(["import", write(text), "--study", "elsewhere", *THRESHOLDS, *more]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not Path("runs.db").exists()


def test_two_studies_stand_beside_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    main(["import", write(PLAIN), "--study", "elsewhere", *THRESHOLDS])
    main(["import", write(PLAIN), "--study", "stricter", "--good", "0.9", "--learned-nothing", "0.6"])
    capsys.readouterr()
    assert main(["compare", "elsewhere", "stricter"]) == 0
    text = capsys.readouterr().out
    assert "2 of 3 (67 %" in text
    assert "note: the studies have different thresholds (learned nothing, good): 0.600, 0.800 and 0.600, 0.900" in text
    assert main(["compare", "elsewhere", "stricter", "--json"]) == 0
    assert [study["study"] for study in json.loads(capsys.readouterr().out)["studies"]] == ["elsewhere", "stricter"]
