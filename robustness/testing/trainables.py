"""The contract of a trainable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from robustness.plugins import find_trainable
from robustness.study.loading import make_study
from robustness.testing.running import (
    numbers,
    numbers_in_a_new_process,
    recorded_streams,
    refusal,
    run,
    seed_everything,
    trials_of,
)
from robustness.trial import Trial


class TrainableContract:
    """What every trainable promises: fair pairs, repeatable numbers, and checked options.

    Set `study`, as small as it can be: two arms, two configurations, two epochs.
    """

    study: ClassVar[Mapping[str, Any]]
    """The study, as in a study file, with at least two configurations and, where there is a choice, two arms."""
    folder: ClassVar[Path | None] = None
    """The folder of the trainable's module, if it is not installed."""

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        return trials_of(self.study, self.folder)

    def of_arms(self) -> list[Trial]:
        """The trials of the first configuration and replicate, one for each arm."""
        first = self.trials[0]
        return [each for each in self.trials if each.key[::2] == first.key[::2]]

    def test_epochs_are_numbered_and_hold_the_metric(self) -> None:
        for trial in self.of_arms():
            epochs, ending = run(trial)
            assert ending.status in ("finished", "diverged"), f"trial {trial.key} {ending.status}: {ending.error}"
            places = [each.epoch for each in epochs]
            assert places == sorted(set(places)), f"epochs must be numbered upwards, found {places}"
            assert all(isinstance(place, int) and place >= 0 for place in places), f"found epochs {places}"
            counted = [each for each in epochs if not each.pretraining and each.epoch > 0]
            assert counted or ending.status == "diverged", "no epoch counts: all of them are pre-training"
            for each in counted:
                assert trial.metric in each.measures, f"epoch {each.epoch} does not measure {trial.metric!r}"
                assert not math.isinf(each.measures[trial.metric]), f"{trial.metric} is infinite in epoch {each.epoch}"

    def test_the_same_trial_gives_the_same_numbers(self) -> None:
        for trial in self.of_arms():
            assert numbers(trial) == numbers(trial), f"trial {trial.key} measures something else the second time"

    def test_global_random_state_does_not_matter(self) -> None:
        for trial in self.of_arms():
            seed_everything(1)
            first = numbers(trial)
            seed_everything(2)
            assert numbers(trial) == first, f"trial {trial.key} depends on global random state; use Streams.of(trial)"

    def test_nothing_is_left_over_from_the_trial_before(self) -> None:
        before, trial = self.trials[-1], self.trials[0]
        assert before.key != trial.key, "the study under test needs at least two trials"
        alone = numbers_in_a_new_process(trial)
        numbers(before)
        assert numbers(trial) == alone, f"trial {trial.key} measures something else after trial {before.key}"

    def test_every_arm_sees_the_same_batches(self) -> None:
        opened = {}
        for trial in self.of_arms():
            with recorded_streams() as streams:
                numbers(trial)
            opened[trial.arm] = [each for each in streams if each[0] in ("data_order", "augmentation")]
        first = next(iter(opened))
        for arm, streams in opened.items():
            shared = min(len(streams), len(opened[first]))
            assert streams[:shared] == opened[first][:shared], (
                f"the arms {first!r} and {arm!r} open different streams of data_order or augmentation"
            )

    def test_the_label_of_an_arm_does_not_matter(self) -> None:
        for trial in self.of_arms():
            renamed = replace(trial, arm=f"{trial.arm}_renamed")
            assert numbers(renamed) == numbers(trial), (
                f"the numbers of {trial.key} depend on the arm's label: key random streams by purpose, never by arm"
            )

    def test_unknown_training_options_are_refused(self) -> None:
        if find_trainable(self.trials[0].trainable).check is None:
            return  # A plain function takes `training` as it stands.
        training = {**(self.study.get("training") or {}), "no_such_option": 1}
        study = {**self.study, "training": training}
        message = refusal(lambda: make_study(study, "the study under test", self.folder))
        assert "no_such_option" in message, f"the error does not name the option: {message}"
        assert "\n" not in message, f"the error has several lines: {message}"
