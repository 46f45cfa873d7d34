"""Studies: reading, rejecting and comparing them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.studies import small, write

from robustness.errors import (
    MethodError,
    ModelError,
    RobustnessError,
    SearchSpaceError,
    StudyFileError,
    TaskError,
)
from robustness.study.arms import Arm
from robustness.study.bundled import bundled_names
from robustness.study.loading import load_study, make_study
from robustness.study.study import Study

BUNDLED = ("quickstart", "retinopathy_robustness", "retinopathy_vgg", "training_dynamics")


def make(**changes: Any) -> Study:
    return make_study(small(**changes), "study.yaml")


def test_a_study_is_read_with_its_defaults_filled_in() -> None:
    study = make()
    assert study.name == "small"
    assert study.arms == (Arm("mfvi", "mfvi"), Arm("radial", "radial"))
    assert study.sampling.configurations == 12
    assert study.training["epochs"] == 12
    assert study.training["kl_weight"] == 1.0
    assert study.outcomes.good is not None
    assert study.outcomes.good.at_least == 0.8
    assert study.resources.max_attempts == 3
    assert study.stop is None


@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_study_can_be_read_without_its_data(name: str) -> None:
    assert name in bundled_names("studies")
    study = load_study(name, check_data=False)
    assert study.name == name
    assert study.description


def test_every_other_bundled_study_can_be_read_as_well() -> None:
    for name in bundled_names("studies"):
        assert load_study(name, check_data=False).name == name


def test_the_papers_study_is_the_papers() -> None:
    study = load_study("retinopathy_robustness", check_data=False)
    assert [arm.label for arm in study.arms] == ["mfvi", "radial"]
    assert study.training["epochs"] == 150
    assert study.model == {"name": "vgg_small", "base_channels": 16}
    assert study.reference is not None
    assert study.reference.learned_nothing == {"mfvi": 0.82, "radial": 0.39}
    assert study.reference.good == {"mfvi": 0.11, "radial": 0.44}


def test_missing_data_is_an_error_only_when_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskError, match=r"task.*data/retinopathy_256"):
        load_study("retinopathy_robustness")


def test_a_field_can_be_overridden_with_any_yaml_value(tmp_path: Path) -> None:
    path = write(tmp_path, small())
    study = load_study(
        path,
        ["training.epochs=5", "arms=[radial, {name: m, method: mfvi}]", "stop.level=0.1", "description=two words"],
    )
    assert study.training["epochs"] == 5
    assert [arm.label for arm in study.arms] == ["radial", "m"]
    assert study.stop is not None
    assert study.stop.level == 0.1
    assert study.description == "two words"


def test_an_option_of_a_named_space_can_be_overridden() -> None:
    study = load_study("quickstart", ["space.batch_size=[16, 32]"])
    assert study.space.size() == 720 * 2 // 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("training.epochs", "must be key=value"),
        ("=5", "must be key=value"),
        ("training..epochs=5", "must be key=value"),
        ("training.epochs=[", "--set training.epochs: "),
        ("name.first=5", "name is 'small', which has no keys"),
        ("arms.0=radial", "arms is"),
        ("training.epohcs=5", "did you mean 'epochs'"),
        ("trainig.epochs=5", "did you mean 'training'"),
        ("training.epochs=!!python/name:os.system", "--set training.epochs: the tag"),
    ],
)
def test_a_bad_override_is_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(StudyFileError) as caught:
        load_study(write(tmp_path, small()), [text])
    assert words in str(caught.value)


def test_a_space_is_found_beside_the_study_or_by_its_bundled_name(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("optimizer: adam\nlearning_rate: [0.1, 0.2]\ninitial_rho: -4\n")
    assert load_study(write(tmp_path, small(space="mine.yaml"))).space.size() == 2
    assert load_study(write(tmp_path, small(space="paper_random"))).space.size() == 720
    with pytest.raises(
        SearchSpaceError, match=r"study\.yaml: space: unknown search space.*did you mean 'paper_random'"
    ):
        load_study(write(tmp_path, small(space="paper_radnom")))
    with pytest.raises(SearchSpaceError, match=r"study\.yaml: space: .*no such file"):
        load_study(write(tmp_path, small(space="not_there.yaml")))


def test_an_unknown_study_gets_the_nearest_name() -> None:
    with pytest.raises(StudyFileError, match="did you mean 'quickstart'"):
        load_study("quikstart")


@pytest.mark.parametrize("name", ["not_there.yaml", "a/b", "", "\x00.yaml", "x" * 5000 + ".yaml", "."])
def test_a_path_that_leads_nowhere_is_refused(name: str) -> None:
    with pytest.raises(StudyFileError):
        load_study(name)


def test_a_folder_is_not_a_study(tmp_path: Path) -> None:
    with pytest.raises(StudyFileError, match="is a folder"):
        load_study(f"{tmp_path}/")


def test_arms_have_labels_and_options() -> None:
    entries = [
        "mfvi",
        {"name": "cold", "method": "mfvi", "initial_rho": -6},
        {"method": "radial"},
        {"name": "mc_dropout"},
    ]
    assert make(arms=entries).arms == (
        Arm("mfvi", "mfvi"),
        Arm("cold", "mfvi", {"initial_rho": -6}),
        Arm("radial", "radial"),
        Arm("mc_dropout", "mc_dropout"),
    )


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        (["mfvi", "mfvi"], r"arms\.1: the arm 'mfvi' appears twice"),
        (["radail"], "arms: unknown arm 'radail'; did you mean 'radial'"),
        ([{"name": "x", "method": "mfvi", "intial_rho": 1}], "did you mean 'initial_rho'"),
        ([{"options": 1}], r"arms\.0: needs a name or a method"),
        ([{"name": 5}], r"arms\.0\.name: must be text"),
        ([{"name": "a/b", "method": "mfvi"}], r"arms\.0\.name: must have no /"),
        ([{"name": " ", "method": "mfvi"}], r"arms\.0\.name: must be 1 to"),
        (["not.a.module:METHOD"], "arms: .*cannot import 'not.a.module'"),
        ([], "arms: "),
    ],
)
def test_bad_arms_are_refused(arms: list[Any], words: str) -> None:
    with pytest.raises((StudyFileError, MethodError), match=words):
        make(arms=arms)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"task__name": "synthetic_fundsu"}, TaskError, r"task\.name: unknown task 'synthetic_fundsu'; did you mean"),
        ({"task__imgae_size": 32}, TaskError, "task.*'imgae_size'; did you mean 'image_size'"),
        ({"model__name": "vgg_smal"}, ModelError, r"model\.name: unknown model 'vgg_smal'; did you mean 'vgg_small'"),
        ({"model__base_chanels": 3}, ModelError, "did you mean 'base_channels'"),
        ({"training__epohcs": 3}, StudyFileError, r"training\.epohcs: unknown key 'epohcs'; did you mean 'epochs'"),
        ({"training__epochs": "12"}, StudyFileError, r"training\.epochs: must be a valid integer, found '12'"),
        ({"training__epochs": True}, StudyFileError, r"training\.epochs: .*True"),
        ({"training__pretrain_epochs": 12}, StudyFileError, r"training\.pretrain_epochs: must be less"),
        ({"sampling__strategy": "rndom"}, StudyFileError, r"sampling\.strategy: .*'rndom'"),
        ({"sampling__configurations": None}, StudyFileError, "sampling: configurations is missing"),
        ({"sampling__configurations": 0}, StudyFileError, r"sampling\.configurations: .*found 0"),
        ({"sampling__seed": -1}, StudyFileError, r"sampling\.seed"),
        ({"outcomes__metric": "validation_acu"}, StudyFileError, r"outcomes\.metric: .*did you mean 'validation_auc'"),
        ({"outcomes__good": {"at_least": 1.5}}, StudyFileError, r"outcomes\.good\.at_least: .*found 1\.5"),
        ({"outcomes__learned_nothing": {}}, StudyFileError, r"outcomes\.learned_nothing: needs exactly one"),
        ({"outcomes__learned_nothing": {"below": 0.9}}, StudyFileError, r"outcomes: learned_nothing\.below"),
        (
            {"outcomes__learned_nothing": {"no_better_than_start": 0.01, "below": 0.5}},
            StudyFileError,
            r"outcomes\.learned_nothing: needs exactly one of",
        ),
        (
            {"outcomes__learned_nothing": {"no_better_than_start": 0.01}, "outcomes__metric": "train_auc"},
            StudyFileError,
            r"no_better_than_start: needs a metric of the validation set, found train_auc",
        ),
        (
            {"outcomes__lerned_nothing": 1},
            StudyFileError,
            r"outcomes\.lerned_nothing: .*did you mean 'learned_nothing'",
        ),
        (
            {"resources__gpu": 0.4},
            StudyFileError,
            "resources: gpu must be 1/k if below 1, such as 1/2 = 0.5, found 0.4",
        ),
        ({"resources__gpu": "atuo"}, StudyFileError, r"resources\.gpu: .*'atuo'"),
        ({"resources__gpu": 1.5}, StudyFileError, "resources: gpu must be 0, an integer"),
        ({"resources__cpu": 2.5}, StudyFileError, "resources: cpu must be an integer if above 1, found 2.5"),
        ({"training__device": "cuda"}, StudyFileError, r"training\.device: is 'cuda', but .* resources\.gpu is 0"),
        ({"reference": {"good": {"mfvi": 11}}}, StudyFileError, r"reference\.good\.mfvi: .*found 11"),
        ({"stop": {"level": 2}}, StudyFileError, r"stop\.level"),
        ({"stop": {"arms": ["mfvi", "radical"]}}, StudyFileError, r"stop\.arms\.1: .*did you mean 'radial'"),
        ({"stop": {"arms": ["mfvi", "mfvi"]}}, StudyFileError, r"stop\.arms: needs two different arms"),
        ({"stop": {"arms": ["mfvi"]}}, StudyFileError, r"stop\.arms"),
        ({"stop": {"when": "some"}}, StudyFileError, r"stop\.when"),
        ({"stop": {"futility": 1.0}}, StudyFileError, r"stop\.futility"),
        ({"stop": {}, "arms": ["mfvi"]}, StudyFileError, r"stop: needs two arms"),
        ({"stop": {}, "sampling__strategy": "sobol"}, StudyFileError, r"stop: needs configurations in random order"),
        ({"stop": {}, "space__cross": "batch_size"}, StudyFileError, r"stop: cannot be combined .* `cross`"),
        (
            {
                "stop": {"arms": ["mfvi", "radial"]},
                "arms": ["mfvi", "radial", "mc_dropout"],
                "compare_with": "mc_dropout",
            },
            StudyFileError,
            r"stop\.arms: must include 'mc_dropout'",
        ),
        ({"stop": {"outcome": "nothing"}}, StudyFileError, r"stop\.outcome"),
        (
            {"space__batch_size": [0, 16]},
            SearchSpaceError,
            r"space\.batch_size: must be an integer >= 1, found 0",
        ),
        ({"space__intial_rho": [0]}, SearchSpaceError, r"space\.intial_rho: .*did you mean 'initial_rho'"),
        ({"space__optimizer": ["sdg"]}, SearchSpaceError, r"space\.optimizer: must be one of"),
        ({"space__optimizer": {"sgd": {}}}, SearchSpaceError, r"space\.learning_rate: is missing"),
        ({"space": {"optimizer": "adam", "learning_rate": 0.1}}, MethodError, "needs 'initial_rho'"),
        ({"name": "a/b"}, StudyFileError, "name: must have no /"),
        ({"name": "a\nb"}, StudyFileError, "name: must be 1 to"),
        ({"trainable": "no colon"}, StudyFileError, "trainable: "),
        ({"colour": 1}, StudyFileError, "colour: unknown key 'colour'"),
    ],
)
def test_an_error_is_named_in_one_line(changes: dict[str, Any], error: type[RobustnessError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        make(**changes)
    assert str(caught.value).startswith("study.yaml: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gpu", [0, 1, 2, 0.5, 0.25, 0.33, 1 / 3, 0.125, "auto"])
def test_a_gpu_can_be_shared_by_whole_numbers_of_trials(gpu: object) -> None:
    assert make(resources__gpu=gpu).resources.gpu == gpu
