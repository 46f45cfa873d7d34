"""Formulas of a page as MathML, which browsers draw without scripts or fonts from other hosts."""

from __future__ import annotations

import re
from html import unescape

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def with_mathml(html: str) -> str:
    """Replace every formula that Markdown marked by MathML."""
    html = _INLINE.sub(lambda found: convert(unescape(found[1]).strip()), html)
    return _DISPLAY.sub(
        lambda found: f'<div class="formula">{convert(unescape(found[1]).strip(), display="block")}</div>', html
    )
