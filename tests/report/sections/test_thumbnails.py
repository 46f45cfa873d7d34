"""Thumbnails of test pictures: the right ones, the right pixels, and only where the data is at hand."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from support.results import present
from support.searches import TASK, fill_search, made_predictions, made_search
from support.stores import HOSTILE

from report.analysis import Analysis, analyse
from report.page import render
from report.sections import thumbnails
from report.sections.thumbnails import LONGEST, data_url
from robustness import metrics, tasks
from robustness.store import Store, open_store
from robustness.tasks import Split, TaskData


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


@pytest.fixture(scope="module")
def pictures() -> TaskData:
    """Drawn pictures whose test split has the labels of the made predictions."""
    images = np.random.default_rng(0).integers(0, 256, (60, 16, 16, 3), dtype=np.uint8)
    made = made_predictions("mfvi", 0)
    split = Split(images, made["labels"], made["patients"], names=tuple(f"eye {place}.png" for place in range(60)))
    return TaskData(split, split, split, np.zeros(3, dtype=np.float32), np.ones(3, dtype=np.float32))


def provide(monkeypatch: pytest.MonkeyPatch, data: TaskData) -> None:
    monkeypatch.setitem(tasks._loaded, tasks._key(TASK), data)


def best_model(analysis: Analysis) -> NDArray[np.float64]:
    best = present(analysis.results["finals"]["best"])
    probabilities: NDArray[np.float64] = made_predictions(best, 0)["probabilities"]
    return probabilities


def test_the_most_uncertain_and_the_confidently_wrong_are_shown(
    store: Store, pictures: TaskData, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(monkeypatch, pictures)
    analysis = analyse(fill_search(store, made_search()))
    (section,) = thumbnails.sections(analysis)
    draws = best_model(analysis)
    doubt = metrics.mutual_information(draws)
    uncertain, wrong = section.galleries
    assert [each.lines[0] for each in uncertain.thumbnails] == [f"eye {i}.png" for i in np.argsort(-doubt)[:6]]
    mean = draws.astype(float).mean(axis=0)
    bad = np.flatnonzero(mean.argmax(axis=1) != pictures.test.labels)
    surest = bad[np.argsort(-mean[bad].max(axis=1))]
    assert [each.lines[0] for each in wrong.thumbnails] == [f"eye {i}.png" for i in surest[:6]]
    first = wrong.thumbnails[0]
    assert first.lines[1] == f"label {('negative', 'positive')[pictures.test.labels[surest[0]]]}"
    assert first.lines[2] == f"says {('negative', 'positive')[mean[surest[0]].argmax()]} {mean[surest[0]].max():.2f}"
    assert f"{len(bad)} of 60 test pictures wrong" in section.reading
    page = render(analysis)
    assert page.count("<img ") == len(uncertain.thumbnails) + len(wrong.thumbnails)
    assert page.count('<img src="data:image/') == page.count("<img ")


def test_names_of_pictures_are_text(store: Store, pictures: TaskData, monkeypatch: pytest.MonkeyPatch) -> None:
    provide(monkeypatch, replace(pictures, test=replace(pictures.test, names=(HOSTILE[1],) * 60)))
    page = render(analyse(fill_search(store, made_search())))
    assert HOSTILE[1] not in page
    assert "onerror=alert(2)&gt;" in page


def test_pictures_that_do_not_fit_the_predictions_are_not_shown(
    store: Store, pictures: TaskData, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(monkeypatch, replace(pictures, test=replace(pictures.test, labels=1 - pictures.test.labels)))
    analysis = analyse(fill_search(store, made_search()))
    assert list(thumbnails.sections(analysis)) == []
    assert "<img" not in render(analysis)


def test_without_the_data_the_page_goes_without(store: Store, tmp_path: Path) -> None:
    study = made_search(task={"name": "retinopathy", "folder": str(tmp_path / "nowhere")})
    analysis = analyse(fill_search(store, study))
    assert list(thumbnails.sections(analysis)) == []
    assert 'id="finals"' in render(analysis)


def test_a_report_imports_nobodys_task(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "someone_else").mkdir()
    (tmp_path / "someone_else" / "__init__.py").write_text("")
    (tmp_path / "someone_else" / "task.py").write_text("raise SystemExit('was imported')")
    monkeypatch.syspath_prepend(tmp_path)
    analysis = analyse(fill_search(store, made_search()))
    document: dict[str, Any] = {**analysis.frames.document, "task": {"name": "someone_else.task"}}
    frames = replace(analysis.frames, document=document)
    other = replace(analysis, study=replace(analysis.study, frames=frames))
    assert list(thumbnails.sections(other)) == []
    assert "someone_else" not in sys.modules


@pytest.mark.parametrize(("height", "width", "channels"), [(16, 16, 3), (40, 24, 1), (300, 200, 3)])
def test_an_address_holds_the_picture_small_enough(height: int, width: int, channels: int) -> None:
    ramp = np.linspace(0, 255, height * width * channels).reshape(height, width, channels).astype(np.uint8)
    kind, _, content = data_url(ramp).partition(";base64,")
    assert kind in ("data:image/png", "data:image/jpeg")
    with Image.open(io.BytesIO(base64.b64decode(content))) as picture:
        assert max(picture.size) == min(LONGEST, max(height, width))
        assert picture.size[1] / picture.size[0] == pytest.approx(height / width, rel=0.02)
        shown = np.asarray(picture, dtype=float)
    assert shown.mean() == pytest.approx(ramp.mean(), abs=2)
