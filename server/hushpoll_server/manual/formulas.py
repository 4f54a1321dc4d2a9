r"""Formulas in the documentation: LaTeX becomes MathML, which browsers draw without a script.

`$...$` and `$$...$$` in pages, and the role :math: of docstrings. A Markdown extension, used by the server's pages and
by the site (mkdocs.yml names it).
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

_INLINE = r"(?<![\w$\\])\$(?![\s$])([^$]+?)(?<!\s)\$(?!\w)"
_ROLE = r":math:`([^`]+)`"
_BLOCK = r"\$\$([^$]+)\$\$"


class Formula(InlineProcessor):  # type: ignore[misc]
    """Replaces LaTeX between dollar signs with MathML."""

    def __init__(self, pattern: str, markdown: Markdown, display: str) -> None:
        super().__init__(pattern, markdown)
        self.display = display

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:
        """Return the formula's element and the span it replaces."""
        return convert_to_element(m[1].strip(), display=self.display), m.start(0), m.end(0)


class Formulas(Extension):  # type: ignore[misc]
    """Adds formulas to Markdown, after code spans and before escapes."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the patterns; the role goes before code spans."""
        md.inlinePatterns.register(Formula(_ROLE, md, "inline"), "formula-role", 195)
        md.inlinePatterns.register(Formula(_BLOCK, md, "block"), "formula-block", 187)
        md.inlinePatterns.register(Formula(_INLINE, md, "inline"), "formula", 186)


def makeExtension(**options: Any) -> Formulas:
    """Return the extension; the name is Markdown's convention."""
    return Formulas(**options)
