"""Names and numbers as sentences, tables and pictures write them.

An `entry` is a part of the results (`report.records`). Where it has `replicates` above 1, its fraction is a mean over
configurations, and no count of trials stands beside it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from report.records.estimates import Difference, Ends, Fraction, Replicates, known
from robustness.errors import plural
from robustness.guards.printable import printable
from robustness.metrics import find_metric

SIGNIFICANT = 0.05
"""The level at which a difference is significant."""
MANY = 1e6
"""From here on, numbers are written with a power of ten."""
TASK_UNIT = "standard deviations of its task"
"""The unit of scores over several tasks (`report.comparison.task_units`)."""
DASH = "–"
"""The cell of a table that has nothing to show."""
ONE_TEST = (
    "Each 95 % interval and p-value belong to one test of that difference alone: the interval leaves out 0 exactly "
    "when p is below 0.05."
)
_NEGATIVE = re.compile(r"(?<![\w.−-])-(?=\.?\d)")
OUTCOME_WORDS = {"learned_nothing": "learned nothing", "between": "between", "good": "good"}


def text(value: object, limit: int = 26) -> str:
    """A name on one line, of at most `limit` characters; unprintable ones, some of which XML forbids, are escaped."""
    clean = printable(value)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def spaced(name: object) -> str:
    """`out of memory` for `out_of_memory`."""
    return str(name).replace("_", " ")


def metric_words(metric: str) -> str:
    """`validation AUC` for `validation_auc`."""
    return find_metric(metric).label


def the_metric(metric: str) -> str:
    """`validation AUC`; `the metric` where that is all that an import calls it."""
    words = metric_words(metric)
    return "the metric" if words.lower() == "metric" else words


def in_metric(metric: str) -> str:
    """` in validation AUC`, behind a difference; nothing where the metric has no name."""
    words = metric_words(metric)
    return "" if words.lower() == "metric" else f" in {words}"


def number(value: object) -> str:
    """The value of a hyperparameter in a few characters: `0.001`, `1e-4`; the page's script writes it the same."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text(value, 14)
    written = f"{value:.4g}"
    if "e" not in written and not 0 < abs(value) < 1e-3:
        return written
    digits, power = f"{value:.3e}".split("e")
    return f"{float(digits):g}e{int(power)}"


def named_values(values: Mapping[str, object]) -> str:
    """`learning_rate 0.01, batch_size 32`."""
    return ", ".join(f"{text(name, 40)} {number(value)}" for name, value in values.items())


def cell_words(hyperparameters: Mapping[str, object]) -> str:
    """`epochs 20, batch size 1024`, for a cell of a grid."""
    values = {
        name: f"{value:g}" if isinstance(value, int | float) else value for name, value in hyperparameters.items()
    }
    return ", ".join(f"{spaced(text(name, 40))} {text(value, 40)}" for name, value in values.items())


def score(value: float | None) -> str:
    """A score of a trial to four decimals."""
    return DASH if value is None else brief(value, 4)


def score_decimals(metric: str, values: Iterable[float | None]) -> int:
    """How many decimals scores of a metric get in summaries: 3 within 0 and 1, else by the largest of the values."""
    bounds = find_metric(metric).range
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value) and value]
    if (bounds is not None and bounds == (0.0, 1.0)) or not sizes:
        return 3
    return min(6, max(0, 2 - math.floor(math.log10(max(sizes)))))


def brief(value: float, decimals: int) -> str:
    """A number to this many decimals; from a million on, three digits and a power of ten."""
    return f"{value:z.{decimals}f}" if abs(value) < MANY else f"{value:.3g}".replace("e+", "e")


def capitalised(words: str) -> str:
    """The words with a capital letter in front; not for those that begin with the name of an arm."""
    return f"{words[:1].upper()}{words[1:]}"


def listed(parts: Sequence[str], word: str = "and") -> str:
    """`a, b and c`."""
    return f" {word} ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)


def minus(number: str) -> str:
    """The number with a minus sign in place of a hyphen."""
    return number.replace("-", "−")


def typeset(words: str) -> str:
    """Text as pages and figures print it: a minus sign before a negative number, and no break before `%`.

    Terminals, JSON, LaTeX and CSV keep the characters that one can type, and exponents are as in code: `1e-5`.
    """
    return _NEGATIVE.sub("−", words).replace(" %", "\u00a0%")


def rounded(value: float, decimals: int = 0) -> str:
    """The value to so many decimals, halves away from zero, and never a minus sign before a zero."""
    scale = 10.0**decimals
    whole = math.copysign(math.floor(abs(value) * scale + 0.5 + 1e-9), value) / scale
    return f"{whole:z.{decimals}f}"


def signed(value: float, decimals: int = 0) -> str:
    """`+0.052`, `-42`, and `0` for a value that rounds to it."""
    written = rounded(value, decimals) if abs(value) < MANY else brief(value, decimals)
    return f"+{written}" if float(written) > 0 else written


@dataclass(frozen=True)
class Writer:
    """Writes values to so many decimals."""

    write: Callable[[float, int], str]
    decimals: int

    def __call__(self, value: float) -> str:
        """The value as text."""
        return self.write(value, self.decimals)


def signed_to(decimals: int) -> Writer:
    """What writes a value by `signed` to so many decimals."""
    return Writer(signed, decimals)


def percent(value: float, decimals: int = 0) -> str:
    """A share in per cent, without the sign."""
    return rounded(100 * value, decimals)


def exact_percent(value: float) -> str:
    """`66.7 %`, for tables; halves are rounded up, as the page's script rounds them."""
    return f"{math.floor(1000 * value + 0.5 + 1e-9) / 10:.1f}\u00a0%"


def has_interval(entry: Ends) -> bool:
    """Whether an entry has an interval; without observations, among others, it has none."""
    return entry["low"] is not None and not entry["interval"].startswith("none")


def replicated(entry: Replicates) -> bool:
    """Whether an entry is over configurations with replicates."""
    return entry["replicates"] > 1


def units(entry: Replicates, of: int, noun: str = "configuration", tasks: int = 1) -> str:
    """What a fraction of so many trials, or a comparison of so many pairs, is over.

    `12 configurations`, `8 configurations x 4 replicates`, `12 configurations x 2 tasks x 3 replicates`.
    """
    configurations = plural(entry["configurations"], noun)
    if not replicated(entry):
        return configurations
    whole = of == entry["configurations"] * entry["replicates"]
    if tasks > 1 and whole and entry["replicates"] % tasks == 0:
        seeds = entry["replicates"] // tasks
        return f"{configurations} x {tasks} tasks" + (f" x {seeds} replicates" if seeds > 1 else "")
    word = "replicates" if tasks == 1 else "runs on the tasks"
    return f"{configurations} x {_replicates(entry, of)} {word}"


def short_units(entry: Fraction) -> str:
    """`8 of 12`, or with replicates `8 x 4`: configurations x replicates."""
    if replicated(entry):
        return f"{entry['configurations']} x {_replicates(entry, entry['of'])}"
    return f"{entry['count']:.0f} of {entry['of']}"


def _replicates(entry: Replicates, of: int) -> str:
    whole = of == entry["configurations"] * entry["replicates"]
    return str(entry["replicates"]) if whole else f"up to {entry['replicates']}"


def share(entry: Fraction, name: str = "95 % interval ", over: bool = True, tasks: int = 1) -> str:
    """`8 of 12 (67 %, 95 % interval 39-86 %)`, for sentences.

    With replicates, `38 % of 8 configurations x 4 replicates (95 % interval 20-60 %)`, or without what it is over.
    """
    if not entry["of"]:
        return "0 of 0"
    fraction = f"{percent(known(entry['fraction']))} %"
    ends = ""
    if has_interval(entry):
        ends = f"{name}{percent(known(entry['low']))}-{percent(known(entry['high']))} %"
    if replicated(entry):
        whole = f" of {units(entry, entry['of'], tasks=tasks)}" if over else ""
        return f"{fraction}{whole}{f' ({ends})' if ends else ''}"
    return f"{short_units(entry)} ({', '.join(part for part in (fraction, ends) if part)})"


def share_cell(entry: Fraction) -> str:
    """`66.7 % (8 of 12) [39.1 % to 86.2 %]`, for tables; with replicates `37.5 % (8 x 4) [...]`."""
    if not entry["of"]:
        return DASH
    fraction = f"{exact_percent(known(entry['fraction']))} ({short_units(entry)})"
    if not has_interval(entry):
        return fraction
    return f"{fraction} [{exact_percent(known(entry['low']))} to {exact_percent(known(entry['high']))}]"


def bracketed(
    value: float | None, low: float | None, high: float | None, write: Callable[[float], str] | None = None
) -> str:
    """`0.063 [0.004 to 0.123]`, as far as it is known; to three decimals, unless `write` writes otherwise."""
    write = write or Writer(brief, 3)
    if value is None:
        return DASH
    if low is None or high is None:
        return write(value)
    if isinstance(write, Writer):
        write = replace(write, decimals=enough_decimals(value, (low, high), write.write, write.decimals))
    return f"{write(value)} [{write(low)} to {write(high)}]"


def bracketed_change(entry: Difference, in_points: bool) -> str:
    """A difference, for a table that names its unit: `-42 [-60 to -20]` in points, or `+0.052 [+0.020 to +0.084]`."""
    write = Writer(_signed_points, 0) if in_points else signed_to(3)
    low, high = (entry["low"], entry["high"]) if has_interval(entry) else (None, None)
    return bracketed(entry["difference"], low, high, write)


def _signed_points(value: float, decimals: int) -> str:
    return signed(100 * value, decimals)


def interval_words(low: float, high: float, write: Callable[[float], str], name: str = "95 % interval") -> str:
    """`95 % interval 0.004 to 0.123`."""
    return f"{name} {write(low)} to {write(high)}"


def points(entry: Difference) -> str:
    """A difference of fractions as `-42 points (95 % interval -60 to -20)`."""
    return _change(entry, lambda value, decimals: signed(100 * value, decimals), 0, " points")


def mean_change(entry: Difference) -> str:
    """A difference of means as `+0.052 (95 % interval +0.020 to +0.084)`."""
    return _change(entry, signed, 3)


def _change(entry: Difference, write: Callable[[float, int], str], decimals: int, unit: str = "") -> str:
    if entry["difference"] is None:
        return DASH
    value = entry["difference"]
    if not has_interval(entry):
        return f"{write(value, decimals)}{unit}"
    ends = known(entry["low"]), known(entry["high"])
    decimals = enough_decimals(value, ends, write, decimals)
    low, high = (write(end, decimals) for end in ends)
    return f"{write(value, decimals)}{unit} (95 % interval {low} to {high})"


def enough_decimals(value: float, ends: Iterable[float], write: Callable[[float, int], str], decimals: int) -> int:
    """The decimals of an estimate and the ends of its interval: up to two more where an end would be written as the
    estimate, or as the 0 that it leaves out."""
    apart = [end for end in ends if end != value]
    for enough in range(decimals, decimals + 3):
        written = [write(end, enough) for end in apart]
        if write(value, enough) not in written and all(
            float(shown) or not end for shown, end in zip(written, apart, strict=True)
        ):
            return enough
    return decimals


def beside_zero(value: float, write: Callable[[float, int], str], decimals: int) -> str:
    """An end of an interval, with up to two decimals more where it would be rounded to 0, which it leaves out."""
    for more in range(3):
        written = write(value, decimals + more)
        if value == 0 or float(written):
            return written
    return write(value, decimals)


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
    return f"{value:z.{decimals}f}" + ("" if error is None else f" ± {error:.{decimals}f}")


def percent_with_error(mean: float, error: float | None) -> str:
    """`97.9 ± 0.3 %`."""
    return f"{plus_minus(100 * mean, None if error is None else 100 * error, 1)} %"


def is_significant(p_value: float | None) -> bool:
    """Whether a p-value is below the level; not if there is none."""
    return p_value is not None and p_value < SIGNIFICANT


def at_floor(p_value: float | None, permutations: int | None) -> bool:
    """Whether no permutation was as extreme, so that the p-value is only known to be at most this."""
    return p_value is not None and permutations is not None and p_value * (permutations + 1) < 1.5


def p_words(value: float | None, at_most: bool = False) -> str:
    """`p = 0.031`, or in powers of ten below a thousandth; `p ≤ 0.003`; `no test` where none was possible."""
    return "no test" if value is None else f"p {'≤' if at_most else '='} {p_number(value)}"


def p_number(value: float | None, at_most: bool = False) -> str:
    """A p-value as `0.031`, or in powers of ten below a thousandth; more digits where two would round it to 0.05.

    `at_most` puts `≤` before it.
    """
    if value is None:
        return DASH
    return f"≤ {_p_digits(value)}" if at_most else _p_digits(value)


def _p_digits(value: float) -> str:
    if 0.0495 <= value < SIGNIFICANT or SIGNIFICANT < value < 0.0505:
        return next(f"{value:.{digits}f}" for digits in (4, 6, 17) if float(f"{value:.{digits}f}") != SIGNIFICANT)
    if value >= 0.001:
        return f"{value:.2g}" if value < 0.995 else "1"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"
