from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from support.branin import branin_document, branin_study

from robustness.cli import main
from robustness.errors import RobustnessError
from robustness.optimize.plan import plan_search
from robustness.study.changes import extends
from robustness.study.loading import load_study, make_study


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"search": {"run": 3}}, "search.run: unknown key 'run'; did you mean 'runs'?"),
        ({"search": {"runs": 0}}, "branin.yaml: search.runs: must be greater than or equal to 1, found 0"),
        ({"search": {"spaces": {"onyl": {"a": 1}}}}, "search.spaces.onyl: unknown arm 'onyl'; did you mean 'only'?"),
        ({"search": {"objective": "auc"}}, "search.objective: 'support.branin:train' does not measure auc"),
        ({"search": {"warm_start": "branin"}}, "search.warm_start: is this study itself"),
        ({"sampling": {"configurations": 86}}, "sampling.configurations: leave it out or set it to search.runs (10)"),
        ({"stop": {}}, "stop: is only for sweeps"),
        (
            {"outcomes": {"learned_nothing": {"no_better_than_untrained": 0.01}, "good": {"at_least": 0.8}}},
            "outcomes.learned_nothing: thresholds from untrained networks or guessing are only for sweeps",
        ),
        ({"finals": {"arms": ["best"]}}, "finals.arms.0: unknown arm 'best'"),
        ({"search": None, "finals": {}, "sampling": {"configurations": 3}}, "finals: needs `search`"),
    ],
)
def test_a_bad_search_is_refused_with_its_key(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RobustnessError) as refused:
        branin_study(**changes)
    assert words in str(refused.value)


def test_more_runs_extend_a_study_and_another_sampler_makes_it_another() -> None:
    study = branin_study()
    assert extends(study.document(), branin_study(search={"runs": 12}).document())
    assert not extends(study.document(), branin_study(search={"runs": 8}).document())
    assert not extends(study.document(), branin_study(search={"runs": 10, "sampler": "tpe"}).document())
    assert extends(study.document(), branin_study(finals={"replicates": 2}).document())
    assert make_study(branin_document(), "branin.yaml").hash == study.hash


def test_sweep_and_optimize_refuse_each_others_studies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    path = tmp_path / "branin.yaml"
    path.write_text(yaml.safe_dump(branin_document()))
    assert main(["sweep", str(path), "--store", store]) == 2
    assert "run it with `robustness optimize`" in capsys.readouterr().err
    path.write_text(yaml.safe_dump(branin_document(search=None, sampling={"configurations": 2})))
    assert main(["optimize", str(path), "--store", store]) == 2
    assert "has no `search`" in capsys.readouterr().err
    assert not (tmp_path / "store.db").exists()


def test_bundled_final_studies_have_the_papers_arms_and_budget(capsys: pytest.CaptureFixture[str]) -> None:
    table = {"mc_dropout", "mfvi", "mfvi_tweaked", "radial", "deep_ensemble", "radial_ensemble"}
    for name in ("fundus_final", "retinopathy_vgg"):
        study = load_study(name, check_data=False)
        found = plan_search(study)
        arms = {arm["arm"]: arm for arm in found["arms"]}
        assert table <= set(arms)
        assert {arm["runs"] for arm in found["arms"]} == {0, 10}
        assert arms["radial_ensemble"]["made_of"] == "radial"
        assert all(arm["final_models"] > 0 for arm in found["arms"])
        assert main(["plan", name]) == 0
        assert "deep_ensemble: made of models of deterministic" in capsys.readouterr().out
    assert study.objective == "validation_accuracy"
    assert study.model_of("mc_dropout")["base_channels"] == 64
    assert study.model_of("radial")["base_channels"] == 46
    assert plan_search(load_study("deepdrid_final", check_data=False))["trials"] == 26
