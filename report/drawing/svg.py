"""A matplotlib figure as SVG that may stand in a page with a strict Content-Security-Policy.

Matplotlib writes `style` attributes and a style element, which such a policy forbids, ids that clash between figures,
and coordinates to six digits. Here styles become presentation attributes, ids are kept only where something refers to
them and begin with the figure's name, numbers are rounded, and a title and a description are put in front.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby, pairwise
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#1b1f24"
"""The colour of text, axes and grid; in a page it becomes the colour of the text around the figure."""
FONTS = "DejaVu Sans, Verdana, sans-serif"
"""The fonts of a figure in a separate file; in a page it has those of the text around it."""

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONT = re.compile(r"(?P<weight>bold |\d+ )?(?P<size>[\d.]+)px (?P<family>.+)")
_DEFAULTS = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
_INHERITED = frozenset(
    {"fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-linejoin", "stroke-linecap"}
)
_FEW_MARKS = 4
_LONG_PATH = 30
_GEOMETRY = frozenset({"d", "x", "y", "width", "height", "points", "transform", "cx", "cy", "r", "stroke-width"})


def to_svg(figure: Figure, name: str, title: str, description: str, *, in_page: bool = True) -> str:
    """The figure as an SVG element that screen readers announce by its title and description.

    `in_page` takes the text's colour and font from the page; else the element is a separate file, on white, so that it
    can be read on a dark page, too.
    """
    if not in_page:
        figure.patch.set_facecolor("white")
    root = ElementTree.fromstring(_drawn(figure, name))  # noqa: S314 - matplotlib wrote it just now
    used = set(_references(root))
    for parent in root.iter():
        for child in list(parent):
            if _tag(child) in {"metadata", "style"}:
                parent.remove(child)
    for element in root.iter():
        _clean(element, name, used, in_page)
    _flatten(root)
    _share_styles(root)
    for tag, text in (("desc", description), ("title", title)):
        child = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{tag}"})
        child.text = text
        root.insert(0, child)
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title {name}-desc", **_DEFAULTS}
    if in_page:
        root.attrib.pop("width", None)
        root.attrib.pop("height", None)
    ElementTree.register_namespace("", _SVG)
    written = ElementTree.tostring(root, encoding="unicode")
    return re.sub(r">\s+<", "><", written.replace(f' xmlns="{_SVG}"', "", 1) if in_page else written)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings about letters that matplotlib's font lacks: the reader's fonts have them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def _drawn(figure: Figure, name: str) -> str:
    import matplotlib  # not needed before something is drawn
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}), quiet():
        # Not `savefig`, which draws everything twice.
        FigureCanvasSVG(figure).print_svg(buffer, metadata=nothing)  # type: ignore[no-untyped-call]
    return buffer.getvalue()


def _references(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == _XLINK:
                yield value.removeprefix("#")
            yield from _REFERENCE.findall(value)


def _clean(element: ElementTree.Element, name: str, used: set[str], in_page: bool) -> None:
    attributes = dict(element.attrib)
    element.attrib.clear()
    for declaration in attributes.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font":
            attributes |= _font(value)
        elif key and _DEFAULTS.get(key) != value:
            attributes[key] = value
    for key, value in attributes.items():
        if key == "id":
            if value not in used:
                continue
            value = f"{name}-{value}"
        elif key == _XLINK:
            key = "href"
            if value.startswith("#"):
                value = f"#{name}-{value[1:]}"
        elif key == "transform" and value.startswith("rotate(-0 "):
            continue
        elif key == "font-family":
            if in_page:
                continue
            value = FONTS
        if in_page and value == INK:
            value = "currentColor"
        value = _REFERENCE.sub(lambda match: f"url(#{name}-{match[1]})", value)
        if key in _GEOMETRY or key == "viewBox":
            value = _rounded(value)
        if key == "d":
            value = _shortened(value)
        element.set(key, value)


def _rounded(value: str) -> str:
    digits = 5 if "scale" in value or "matrix" in value else 1
    shortened = _NUMBER.sub(lambda match: f"{round(float(match[0]), digits):g}", value)
    return re.sub(r"\s+", " ", shortened).strip()


def _shortened(path: str) -> str:
    """A path of straight lines, `M x y L x y ...`, with each point relative to the one before; others as they are."""
    parts = path.split(" ")
    if len(parts) < _LONG_PATH or len(parts) % 3 or parts[0] != "M" or set(parts[3::3]) != {"L"}:
        return path
    places = [(round(10 * float(x)), round(10 * float(y))) for x, y in zip(parts[1::3], parts[2::3], strict=True)]
    steps = [_tenths(b[at] - a[at]) for a, b in pairwise(places) for at in (0, 1)]
    line = "".join(step if step[0] == "-" else f" {step}" for step in steps)
    return f"M{parts[1]} {parts[2]}l{line.strip()}"


def _tenths(number: int) -> str:
    whole, tenth = divmod(abs(number), 10)
    written = f"{whole or ''}.{tenth}" if tenth else str(whole)
    return f"-{written}" if number < 0 else written


def _share_styles(root: ElementTree.Element) -> None:
    """Put marks of the same style, one after the other, into a group that has the style once."""
    for parent in list(root.iter()):
        children: list[ElementTree.Element] = []
        for style, run in groupby(parent, key=_style):
            marks = list(run)
            if style is None or len(marks) < _FEW_MARKS:
                children += marks
                continue
            group = ElementTree.Element(f"{{{_SVG}}}g", dict(style))
            for mark in marks:
                mark.attrib = {key: value for key, value in mark.attrib.items() if key not in _INHERITED}
            group[:] = marks
            children.append(group)
        parent[:] = children


def _style(element: ElementTree.Element) -> tuple[tuple[str, str], ...] | None:
    """The style of a mark; None of any other element."""
    if _tag(element) != "use":
        return None
    return tuple((key, value) for key, value in element.attrib.items() if key in _INHERITED)


def _font(value: str) -> dict[str, str]:
    font = _FONT.fullmatch(value)
    if font is None:
        return {}
    attributes = {"font-size": font["size"], "font-family": font["family"]}
    if font["weight"]:
        attributes["font-weight"] = font["weight"].strip()
    return attributes


def _flatten(root: ElementTree.Element) -> None:
    """Replace each group without attributes by its children, and drop empty ones."""
    for parent in list(root.iter()):
        kept: list[ElementTree.Element] = []
        stack = list(parent)[::-1]
        while stack:
            child = stack.pop()
            if not isinstance(child.tag, str) or (_tag(child) in {"g", "defs"} and not len(child)):
                continue
            if _tag(child) == "g" and not child.attrib:
                stack.extend(list(child)[::-1])
            else:
                kept.append(child)
        parent[:] = kept


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
