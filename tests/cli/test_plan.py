"""`robustness plan` and `robustness schema`, as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.studies import small, write

from robustness.cli import main


def test_the_json_of_the_papers_study(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "retinopathy_robustness", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["study", "space", "allowed", "configurations", "trials", "arms", "plan"]
    assert printed["study"] == "retinopathy_robustness"
    assert (printed["space"], printed["allowed"]) == (720, 576)
    assert (printed["configurations"], printed["trials"]) == (86, 172)
    assert printed["arms"] == ["mfvi", "radial"]
    drawn = [row["hyperparameters"] for row in printed["plan"]]
    assert [row["configuration"] for row in printed["plan"]] == list(range(86))
    assert len({json.dumps(configuration, sort_keys=True) for configuration in drawn}) == 86
    assert [configuration["optimizer"] for configuration in drawn].count("amsgrad") == 43


def test_the_table_shows_counts_strata_power_and_every_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "quickstart"]) == 0
    printed = capsys.readouterr().out
    assert "720 configurations, 576 with batch_size * variational_samples <= 256" in printed
    assert "amsgrad 10, sgd 10" in printed
    assert "40 = 20 configurations x 2 arms (mfvi, radial)" in printed
    assert "sample size: 20 pairs" in printed
    assert "momentum 0.9" in printed
    rows = [line.split() for line in printed.splitlines() if line.split()[1:2] in (["sgd"], ["amsgrad"])]
    assert [row[0] for row in rows] == [str(number) for number in range(20)]


def test_the_sample_size_takes_the_number_of_comparisons_into_account(capsys: pytest.CaptureFixture[str]) -> None:
    def line(*options: str) -> str:
        assert main(["plan", "deepdrid_robustness", *options]) == 0
        return next(line for line in capsys.readouterr().out.splitlines() if line.startswith("sample size"))

    assert "over 10 comparisons" in line()
    assert "over 4 comparisons" in line("--set", "compare_with=mfvi")
    assert "Holm" not in line("--set", "arms=[mfvi, radial]")


def test_a_continuous_space_is_null_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", write(tmp_path, small()), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["space"] is None
    assert printed["allowed"] is None


def test_fields_and_the_number_of_configurations_can_be_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "quickstart", "--json", "--set", "arms=[radial]", "--configurations", "20"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["configurations"], printed["trials"], printed["arms"]) == (20, 20, ["radial"])


def test_a_long_table_is_cut_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "quickstart", "--configurations", "120"]) == 0
    assert "and 20 more: --json prints all" in capsys.readouterr().out


def test_asking_for_more_than_there_are_exits_2_with_both_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "retinopathy_robustness", "--configurations", "577"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "577" in printed.err
    assert "576" in printed.err


@pytest.mark.parametrize("value", ["0", "1.5", "x"])
def test_a_difference_that_is_no_share_is_refused(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["plan", "quickstart", "--difference", value])
    assert caught.value.code == 2
    assert "--difference" in capsys.readouterr().err


def test_a_plan_touches_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "quickstart"]) == 0
    assert list(tmp_path.iterdir()) == []


def test_the_schema_knows_every_section_and_describes_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    import jsonschema
    import yaml

    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["properties"]["sampling"]
    assert "seed" in schema["$defs"]["Sampling"]["properties"]
    assert "epochs" in schema["$defs"]["TrainingOptions"]["properties"]
    assert all("description" in key or "$ref" in key or "anyOf" in key for key in schema["properties"].values())
    validator = jsonschema.Draft202012Validator(schema)
    for path in (Path(__file__).parents[2] / "studies").glob("*.yaml"):
        validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert not validator.is_valid(small(smapling={}))


def test_a_damaged_file_ends_the_real_process_with_2_and_one_line(tmp_path: Path) -> None:
    path = write(tmp_path, small(training__epochs="many"))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-m", "robustness", "plan", path],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "training.epochs: must be a valid integer" in done.stderr
