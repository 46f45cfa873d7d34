"""Find study files and search spaces by path, or by name among the bundled ones."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from robustness.errors import RobustnessError, SearchSpaceError, StudyFileError, missing_file, shown, unknown_name

SUFFIXES = (".yaml", ".yml")

_PACKAGE = Path(__file__).resolve().parents[1]


def bundled(kind: str) -> Path:
    """Return the folder of bundled `studies` or `search_spaces`, in the source tree or the installed package."""
    tree = _PACKAGE.parent
    return tree / kind if (tree / "pyproject.toml").is_file() else _PACKAGE / "bundled" / kind


def bundled_names(kind: str) -> list[str]:
    """Return the names of the bundled `studies` or `search_spaces`."""
    return sorted(path.stem for path in bundled(kind).glob("*.yaml"))


def find_study(name_or_path: str) -> Path:
    """Return the file of a study, given its path or the name of a bundled study."""
    return _find(name_or_path, Path(), "studies", "study", StudyFileError)


def find_space(name_or_path: str, folder: Path) -> Path:
    """Return the file of a search space, given a path relative to the study's folder or a bundled name."""
    return _find(name_or_path, folder, "search_spaces", "search space", SearchSpaceError)


def _find(name_or_path: str, folder: Path, kind: str, words: str, error: type[RobustnessError]) -> Path:
    path = folder / name_or_path
    try:
        if is_path(name_or_path):
            if not path.exists():
                stem = Path(name_or_path).stem
                hint = f"; the bundled {words} is called {stem!r}" if stem in bundled_names(kind) else ""
                raise error(f"{path}: {missing_file(path)}{hint}")
            if path.is_dir():
                raise error(f"{path}: is a folder, not a {words} file")
            return path
    except (OSError, ValueError):
        raise error(f"{name_or_path[:200]!r}: is not a valid file name") from None
    if name_or_path in bundled_names(kind):
        return bundled(kind) / f"{name_or_path}.yaml"
    for suffix in SUFFIXES:
        with suppress(OSError, ValueError):
            if (folder / f"{name_or_path}{suffix}").is_file():
                raise error(f"unknown {words} {shown(name_or_path)}; did you mean the file {name_or_path}{suffix}?")
    raise error(
        f"{unknown_name(words, name_or_path, bundled_names(kind))}; for your own file give a path ending in .yaml"
    )


def is_path(name_or_path: str) -> bool:
    """Whether a text names a file, not a bundled study or search space."""
    return "/" in name_or_path or "\\" in name_or_path or name_or_path.endswith(SUFFIXES)
