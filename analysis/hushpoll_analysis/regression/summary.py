"""A fit as text: a head with what was fitted, then the table of coefficients, then the notes."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 86
TITLES = {
    "logit": "Regression of a yes/no outcome",
    "multinomial": "Multinomial logit",
    "ordinal": "Ordinal regression",
    "linear": "Linear regression",
    "mixed": "Regression of a yes/no outcome with a random intercept",
}


def summary_text(fit: Any) -> str:
    """Return a fit (`ModelFit`, or `MomentFit`, which has no likelihood) as text for a terminal."""
    blocks = [_head(fit), _table(fit.to_frame(), fit)]
    if hasattr(fit, "outcome_size"):
        frame = fit.to_frame(everything=True)
    else:
        frame = fit.to_frame()
    rest = frame.iloc[len(fit.to_frame()) :]
    if len(rest):
        blocks += ["Also estimated:", _table(rest, fit)]
    if fit.notes:
        notes = ["  - " + textwrap.fill(note, WIDTH - 4, subsequent_indent="    ") for note in fit.notes]
        blocks.append("\n".join(["Notes:", *notes]))
    return "\n\n".join(blocks)


def _head(fit: Any) -> str:
    by_likelihood = hasattr(fit, "log_likelihood")
    left = [
        ("Formula", fit.formula),
        ("Link", fit.link if by_likelihood else "identity"),
        ("Randomized", ", ".join(fit.randomized) or "nothing"),
        ("Standard errors", _errors(fit)),
    ]
    right = [("Respondents", f"{fit.n:,}"), ("Parameters", str(len(fit.names)))]
    if fit.degrees_of_freedom is None and by_likelihood:
        right += [
            ("Log-likelihood", f"{fit.log_likelihood:.3f}"),
            ("AIC, BIC", f"{fit.aic:.2f}, {fit.bic:.2f}"),
        ]
    elif fit.degrees_of_freedom is not None:
        right.append(("Degrees of freedom", str(fit.degrees_of_freedom)))
    title = "Linear regression by moments"
    if by_likelihood:
        title = TITLES[fit.family]
    lines = [title, "=" * WIDTH]
    for number, (name, value) in enumerate(left):
        first = f"{name + ':':17}{value}"
        if number < len(right):
            other = f"{right[number][0] + ':':20}{right[number][1]:>18}"
            if len(first) <= 46:
                first = f"{first:<46}  {other}"
            else:
                first = f"{first}\n{'':46}  {other}"
        lines.append(first)
    return "\n".join(lines)


def _errors(fit: Any) -> str:
    if fit.degrees_of_freedom is not None:
        return "sample design"
    return str(getattr(fit, "information", "robust, for errors of any shape"))


def _table(frame: pd.DataFrame, fit: Any) -> str:
    letter = "t"
    if fit.degrees_of_freedom is None:
        letter = "z"
    tail = (1.0 - fit.level) / 2.0
    head: tuple[str, ...] = (
        "",
        "coef",
        "std err",
        letter,
        f"P>|{letter}|",
        f"[{tail:.4g}",
        f"{1.0 - tail:.4g}]",
    )
    rows = [head]
    for name, row in zip(frame.index, frame.itertuples(index=False), strict=True):
        cells = [_number(value, digits) for value, digits in zip(row, (4, 4, 3, 3, 4, 4), strict=True)]
        rows.append((str(name), *cells))
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(c.rjust(max(w, 9)) for c, w in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    rule = "-" * max(len(line) for line in lines)
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def _number(value: float, digits: int) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.{digits}f}"
