"""Numbers as sentences say them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SIGNIFICANT = 0.05
"""The level at which a difference is shown."""


def share(found: Mapping[str, Any], name: str = "95 % interval ", intervals: bool = True) -> str:
    """`8 of 12 (67 %, 95 % interval 39-86 %)`; without the interval where there is none, or it is not wanted."""
    if not found["of"]:
        return "0 of 0"
    text = f"{found['count']} of {found['of']} ({percent(found['fraction'])} %"
    if not intervals or str(found["interval"]).startswith("none"):
        return f"{text})"
    return f"{text}, {name}{percent(found['low'])}-{percent(found['high'])} %)"


def percent(value: float) -> str:
    """A share in per cent without digits behind the point, as sentences use it."""
    return f"{100 * value:.0f}"


def signed(value: float, decimals: int = 0) -> str:
    """`+0.052`, `-42`, and `0` for what rounds to it."""
    told = f"{value:+z.{decimals}f}"
    return told if float(told) else told[1:]


def p_words(value: float) -> str:
    """`p = 0.031`, or in powers of ten below a thousandth."""
    if value >= 0.001:
        return f"p = {value:.2g}" if value < 0.995 else "p = 1"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"p = {mantissa}e{int(exponent)}"
