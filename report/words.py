"""Names and numbers as sentences, tables and pictures write them.

An `entry` is a mapping of the results (`docs/report_json.md`): a fraction with `count`, `of`, `fraction`, or a
`difference`; either has `low`, `high` and mostly `interval`, the name of the interval's method.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

SIGNIFICANT = 0.05
"""The level at which a difference is significant."""
DASH = "–"
"""The cell of a table that has nothing to show."""
OUTCOME_WORDS = {"learned_nothing": "learned nothing", "between": "between", "good": "good"}

# Characters that XML cannot hold, among them lone surrogates.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def text(value: object, limit: int = 26) -> str:
    """A name on one line, of at most `limit` characters, without any that XML forbids."""
    clean = _UNFIT.sub("\ufffd", " ".join(str(value).split()))
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def spaced(name: object) -> str:
    """`out of memory` for `out_of_memory`."""
    return str(name).replace("_", " ")


def metric_words(metric: str) -> str:
    """`validation AUC` for `validation_auc`."""
    return spaced(metric).replace("auc", "AUC")


def number(value: object) -> str:
    """The value of a hyperparameter in a few characters."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text(value, 14)
    return f"{value:.4g}".replace("e-0", "e-")


def named_values(values: Mapping[str, Any]) -> str:
    """`learning_rate 0.01, batch_size 32`."""
    return ", ".join(f"{text(name, 40)} {number(value)}" for name, value in values.items())


def cell_words(hyperparameters: Mapping[str, Any]) -> str:
    """`epochs 20, batch size 1024`, for a cell of a grid."""
    values = {
        name: f"{value:g}" if isinstance(value, int | float) else value for name, value in hyperparameters.items()
    }
    return ", ".join(f"{spaced(name)} {value}" for name, value in values.items())


def score(value: float | None) -> str:
    """A score of a trial to four decimals."""
    return DASH if value is None else f"{value:.4f}"


def minus(number: str) -> str:
    """The number with a minus sign in place of a hyphen."""
    return number.replace("-", "−")


def signed(value: float, decimals: int = 0) -> str:
    """`+0.052`, `-42`, and `0` for a value that rounds to it."""
    written = f"{value:+z.{decimals}f}"
    return written if float(written) else written[1:]


def percent(value: float, decimals: int = 0) -> str:
    """A share in per cent, without the sign."""
    return f"{100 * value:.{decimals}f}"


def exact_percent(value: float) -> str:
    """`66.7 %`, for tables; halves are rounded up, as the page's script rounds them."""
    return f"{math.floor(1000 * value + 0.5) / 10:.1f}\u00a0%"


def has_interval(entry: Mapping[str, Any]) -> bool:
    """Whether an entry has an interval: without observations, or where the whole space was run, it has none."""
    return entry["low"] is not None and not str(entry.get("interval", "")).startswith("none")


def share(entry: Mapping[str, Any], name: str = "95 % interval ", intervals: bool = True) -> str:
    """`8 of 12 (67 %, 95 % interval 39-86 %)`, for sentences; without the interval if `intervals` is False."""
    if not entry["of"]:
        return "0 of 0"
    fraction = f"{entry['count']} of {entry['of']} ({percent(entry['fraction'])} %"
    if not intervals or not has_interval(entry):
        return f"{fraction})"
    return f"{fraction}, {name}{percent(entry['low'])}-{percent(entry['high'])} %)"


def share_cell(entry: Mapping[str, Any]) -> str:
    """`66.7 % (8 of 12) [39.1 % to 86.2 %]`, for tables."""
    if not entry["of"]:
        return DASH
    fraction = f"{exact_percent(entry['fraction'])} ({entry['count']:g} of {entry['of']})"
    if not has_interval(entry):
        return fraction
    return f"{fraction} [{exact_percent(entry['low'])} to {exact_percent(entry['high'])}]"


def bracketed(
    value: float | None, low: float | None, high: float | None, write: Callable[[float], str] = "{:.3f}".format
) -> str:
    """`0.063 [0.004 to 0.123]`, as far as it is known."""
    if value is None:
        return DASH
    if low is None or high is None:
        return write(value)
    return f"{write(value)} [{write(low)} to {write(high)}]"


def interval_words(low: float, high: float, write: Callable[[float], str], name: str = "95 % interval") -> str:
    """`95 % interval 0.004 to 0.123`."""
    return f"{name} {write(low)} to {write(high)}"


def points(entry: Mapping[str, Any]) -> str:
    """A difference of fractions as `-42 points (95 % interval -60 to -20)`."""
    return _change(entry, lambda value: signed(100 * value), " points")


def mean_change(entry: Mapping[str, Any]) -> str:
    """A difference of means as `+0.052 (95 % interval +0.020 to +0.084)`."""
    return _change(entry, lambda value: signed(value, 3))


def _change(entry: Mapping[str, Any], write: Callable[[float], str], unit: str = "") -> str:
    if entry["difference"] is None:
        return DASH
    value = f"{write(entry['difference'])}{unit}"
    return f"{value} ({interval_words(entry['low'], entry['high'], write)})" if has_interval(entry) else value


def made_positive(difference: float, low: float, high: float) -> tuple[float, float, float]:
    """A difference and the ends of its interval, seen from the side on which the difference is positive."""
    return (difference, low, high) if difference >= 0 else (-difference, -high, -low)


def with_error(value: float, error: float) -> str:
    """`0.139 ± 0.004`, to the digits that the error leaves."""
    if not math.isfinite(error) or error <= 0:
        return f"{value:.3g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return plus_minus(value, error, digits)


def plus_minus(value: float, error: float | None, decimals: int) -> str:
    """`0.139 ± 0.004`; the value alone without an error."""
    return f"{value:.{decimals}f}" + ("" if error is None else f" ± {error:.{decimals}f}")


def percent_with_error(mean: float, error: float | None) -> str:
    """`97.9 ± 0.3 %`."""
    return f"{plus_minus(100 * mean, None if error is None else 100 * error, 1)} %"


def p_words(value: float) -> str:
    """`p = 0.031`, or in powers of ten below a thousandth."""
    return f"p = {p_number(value)}"


def p_number(value: float) -> str:
    """A p-value as `0.031`, or in powers of ten below a thousandth."""
    if value >= 0.001:
        return f"{value:.2g}" if value < 0.995 else "1"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"
