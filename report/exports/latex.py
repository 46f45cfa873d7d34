"""The report's tables and a methods paragraph as LaTeX: a file that compiles alone, or from which a paper takes parts.

Numbers are those of the JSON, rounded. Names of arms, metrics and studies come from files and are escaped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from report.analysis import Analysis
from report.sections.equivalence import verdict_words
from report.words import OUTCOME_WORDS, p_number

MARK = "% robustness-study"
FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
"""Makes a table that is wider than the page as wide as it, whatever the names of the arms."""
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}


def escaped(value: object) -> str:
    """Text that LaTeX prints as it is; characters that pdflatex may lack become a question mark."""
    plain = unicodedata.normalize("NFKD", str(value).replace("\N{MINUS SIGN}", "-"))
    plain = "".join(each if 32 <= ord(each) < 127 else "" if unicodedata.combining(each) else "?" for each in plain)
    return "".join(_ESCAPES.get(each, each) for each in plain)


def as_latex(analysis: Analysis) -> str:
    """The whole file."""
    study = escaped(analysis.results["study"])
    parts = [
        MARK,
        r"\documentclass{article}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage{booktabs}",
        r"\usepackage{graphicx}",
        r"\usepackage[margin=2cm]{geometry}",
        r"\begin{document}",
        rf"\section*{{{study}}}",
        *(_signs(escaped(sentence)) + "\n" for sentence in analysis.results["verdict"]),
        r"\paragraph{Methods.} " + methods(analysis),
        *_tables(analysis),
        r"\end{document}",
        "",
    ]
    return "\n".join(parts)


def methods(analysis: Analysis) -> str:
    """A paragraph that says what was run and tested, with the study's numbers."""
    results, frames = analysis.results, analysis.frames
    sampling = results["sampling"]
    arms = ", ".join(r"\texttt{" + escaped(arm) + "}" for arm in frames.arms)
    sentences = [
        f"We drew {sampling['configurations']} configurations ({escaped(sampling['strategy'])} sampling"
        + ("" if sampling["population"] is None else f" from a space of {sampling['population']}")
        + f", seed {frames.document['sampling']['seed']}) and trained "
        + (
            f"each of {len(frames.arms)} arms ({arms}) on every one of them with the same data order, initial values "
            "and base noise"
            if sampling["paired"]
            else f"{len(frames.arms)} arms ({arms}), each on configurations of its own"
        )
        + (f", on {len(sampling['tasks'])} tasks" if sampling["tasks"] else "")
        + (f", in {sampling['replicates']} replicates" if sampling["replicates"] > 1 else "")
        + (f"; {sampling['pairs']} complete pairs resulted." if sampling["paired"] else "."),
        f"Trials were judged by {escaped(analysis.metric_words)} at the {results['epoch']} epoch.",
    ]
    if frames.has_thresholds:
        sentences.append(
            f"A trial counted as good at {analysis.good:.4g} or better and as having learned nothing at "
            f"{analysis.nothing:.4g} or worse."
        )
    sentences.append(f"The unit of inference is the configuration. {_inference(analysis)}")
    equivalence = results["equivalence"]
    margins = [
        words
        for words in (
            _margin(equivalence and equivalence["fraction_margin"], 100, " points"),
            _margin(equivalence and equivalence["score_margin"], 1, " in the mean score"),
        )
        if words
    ]
    if margins:
        test = "two one-sided tests" if frames.watched is None else "bets against both edges of the margin"
        sentences.append(
            f"Two arms count as equivalent if {test} at 5\\,\\% reject differences of {' and of '.join(margins)} "
            "or more."
        )
    registration = results["registration"]
    if registration is not None:
        changed = "without later changes" if registration["as_registered"] else "and later changed as listed"
        sentences.append(
            f"Study and analysis were registered on {escaped(registration['time'][:10])} (SHA-256 "
            rf"\texttt{{{escaped(registration['hash'][:16])}}}\ldots) {changed}."
        )
    return " ".join(sentences)


def _margin(margin: float | None, scale: float, unit: str) -> str | None:
    return None if margin is None else f"{scale * margin:g}{unit}"


def _inference(analysis: Analysis) -> str:
    """Which intervals and tests the numbers have."""
    frames, sampling = analysis.frames, analysis.results["sampling"]
    if frames.watched is not None:
        return (
            r"Intervals are 95\,\% confidence sequences and tests are by betting, valid however often the evidence was "
            "inspected, since the sweep could stop on it. Several comparisons were corrected by closed testing."
        )
    fractions = "Fractions have Wilson's"
    if not sampling["paired"]:
        rest = r"and their differences Newcombe's 95\,\% interval; mean differences of scores have Welch's interval."
    elif sampling["tasks"]:
        rest = (
            r"95\,\% interval; differences of fractions over tasks are those of the Mantel-Haenszel test, and mean "
            "differences of scores, in standard deviations of their task, have Student's interval, widened for "
            "skewness."
        )
    else:
        rest = (
            r"and paired differences of fractions Tango's 95\,\% interval with the score test that it inverts; mean "
            "differences of scores have Student's interval, widened for skewness."
        )
    return f"{fractions} {rest} P-values of several comparisons were adjusted by Holm's method."


def _tables(analysis: Analysis) -> Iterable[str]:
    results, frames = analysis.results, analysis.frames
    rows: list[tuple[str, ...]]
    heads: tuple[str, ...]
    if frames.has_thresholds:
        rows = []
        for arm, entry in results["arms"].items():
            cells = [
                _percent(entry[outcome]["fraction"], entry[outcome]["low"], entry[outcome]["high"])
                for outcome in ("learned_nothing", "good")
            ]
            rows.append((_arm(arm), str(entry["paired"]), *cells))
        heads = ("Arm", "Trials", r"Learned nothing, \% [95\,\%]", r"Good, \% [95\,\%]")
        yield _table("Share of trials with each outcome.", "outcomes", heads, rows)
        rows = [
            (
                f"{_arm(entry['arms'][0])} - {_arm(entry['arms'][1])}",
                OUTCOME_WORDS[entry["outcome"]],
                f"{entry['only_first']}/{entry['only_second']}",
                _points(entry["difference"], entry["low"], entry["high"]),
                _p(entry["p_value"]),
                _p(entry["p_adjusted"]),
            )
            for entry in results["paired"]
            if entry["epoch"] == results["epoch"]
        ]
        heads = ("Arms", "Outcome", "Only first/second", r"Difference, points [95\,\%]", "$p$", "$p$ corrected")
        yield _table("Paired differences of fractions, first arm minus second.", "differences", heads, rows)
    rows = [
        (
            f"{_arm(entry['arms'][0])} - {_arm(entry['arms'][1])}",
            _number(entry["mean_difference"], entry["low"], entry["high"]),
            _p(entry["p_value"]),
            _p(entry["p_adjusted"]),
        )
        for entry in results["scores"]
        if entry["epoch"] == results["epoch"]
    ]
    heads = ("Arms", r"Mean difference [95\,\%]", "$p$", "$p$ corrected")
    yield _table("Paired mean differences of scores, first arm minus second.", "scores", heads, rows)
    equivalence = results["equivalence"]
    if equivalence is not None:
        rows = [
            (
                _contrast(entry["name"], list(entry["weights"])),
                "score" if entry["outcome"] is None else f"{OUTCOME_WORDS[entry['outcome']]}, points",
                (_number if entry["outcome"] is None else _points)(
                    entry["difference"], entry["low_90"], entry["high_90"]
                ),
                _p(entry["p_equivalence_adjusted"]),
                verdict_words(entry),
            )
            for entry in [*equivalence["comparisons"], *equivalence["contrasts"]]
        ]
        heads = ("What", "Of", r"Difference [90\,\%]", "$p$ of equivalence", "Verdict")
        yield _table("Equivalence within the margin, and contrasts.", "equivalence", heads, rows)
    rows = [
        (_arm(arm), *(f"{value:.3f}" for value in (each["mean"], each["sd"], each["iqr"], each["cvar"])))
        for arm, each in results["spread"]["arms"].items()
    ]
    heads = ("Arm", "Mean", "SD", "IQR", "Mean of the worst quarter")
    yield _table("Level and spread of scores over configurations.", "spread", heads, rows)


def _table(caption: str, label: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A booktabs table; none without rows."""
    if not rows:
        return ""
    lines = [" & ".join(row) + r" \\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}[ht]",
            r"\centering\small",
            rf"\caption{{{caption}}}\label{{tab:{label}}}",
            FITTED,
            r"\begin{tabular}{@{}l" + "l" * (len(heads) - 1) + "@{}}",
            r"\toprule",
            " & ".join(heads) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
        ]
    )


def _contrast(name: str, arms: Sequence[str]) -> str:
    """A comparison by its two arms, a contrast by its name."""
    return f"{_arm(arms[0])} - {_arm(arms[1])}" if name == " - ".join(arms) else escaped(name)


def _arm(name: str) -> str:
    return r"\texttt{" + escaped(name) + "}"


def _signs(text: str) -> str:
    """The text with minus signs before its negative numbers; the dash of a range such as 36-57 stays."""
    return re.sub(r"(?<![\w%])-(?=[\d.])", "$-$", text)


def _percent(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "--"
    ends = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:.1f}{ends}"


def _points(value: float | None, low: float | None, high: float | None) -> str:
    return _signs(_percent(value, low, high))


def _number(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "--"
    ends = "" if low is None or high is None else f" [{low:.4f}, {high:.4f}]"
    return _signs(f"{value:.4f}{ends}")


def _p(value: float | None) -> str:
    """A p-value, below a thousandth as $4.2 \\times 10^{-10}$."""
    if value is None:
        return "--"
    mantissa, _, exponent = p_number(value).partition("e")
    return rf"${mantissa} \times 10^{{{int(exponent)}}}$" if exponent else escaped(mantissa)
