"""Write docs/mechanisms.md from what the mechanisms declare: `python docs/tools/mechanisms.py [--check]`."""

from __future__ import annotations

import sys
from pathlib import Path

from hushpoll_client.mechanism import MECHANISMS, Mechanism

PAGE = Path(__file__).parents[1] / "mechanisms.md"
OPENING = """\
# Mechanisms

Written by `docs/tools/mechanisms.py` from what each mechanism declares; a test compares. The idea behind all of them is
[a channel](mathematics.md#a-channel); [Survey design](designers.md#which-mechanism) says which to use.
"""
IN_SURVEYS = "in survey definitions and in Python"
IN_PYTHON = "in Python only, for data collected elsewhere"


def section(name: str, mechanism: type[Mechanism]) -> str:
    """Return the part of the page about one mechanism."""
    parameters = ", ".join(f"`{parameter.name}`" for parameter in mechanism.declared_parameters)
    if mechanism.in_surveys:
        where = IN_SURVEYS
    else:
        where = IN_PYTHON
    lines = [
        f"## {name}",
        "",
        f"**{mechanism.label}.** {mechanism.help}",
        "",
        f"- Use: {where}. Parameters: {parameters or 'none'}.",
        f"- Design: {mechanism.design}.",
        f"- Estimate: `{mechanism.formula}`. {mechanism.symbols[0].upper()}{mechanism.symbols[1:]}.",
        f"- Reference: {mechanism.citation}",
    ]
    return "\n".join(lines) + "\n"


def page() -> str:
    """Return the whole page; mechanisms for surveys come first."""
    ordered = sorted(MECHANISMS, key=lambda name: not MECHANISMS[name].in_surveys)
    return "\n".join([OPENING, *(section(name, MECHANISMS[name]) for name in ordered)])


def main() -> None:
    """Write the page, or say whether it is current."""
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text, "utf-8")
    elif not PAGE.exists() or PAGE.read_text("utf-8") != text:
        sys.exit("docs/mechanisms.md is out of date; run: python docs/tools/mechanisms.py")


if __name__ == "__main__":
    main()
