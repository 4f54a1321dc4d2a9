"""Only its own folder decides by the name of a form, a mechanism, a kind, a way of combining answers or a method.

What counts: comparisons and `match` with such a name, dictionaries with two or more of them as keys, and `isinstance`
on a form's class, in Python, Jinja and JavaScript. What does not: tests, docs, bench, migrations, surveys that are
examples, a key of a document (`"forced" in given`), and JavaScript's own `typeof x === "number"`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hushpoll_analysis.interval import METHODS
from hushpoll_client import Channel
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import MECHANISMS

ROOT = Path(__file__).parent.parent
COMBINED = {mechanism.combine for mechanism in MECHANISMS.values()}
PLANNED = {"scale", "number", "multiple", "columns", "subset", "sampled", "padded", "designed", "geometric"}


@dataclass(frozen=True)
class Rule:
    """Names and classes that only `folders` may decide by."""

    names: frozenset[str]
    classes: frozenset[str]
    folders: tuple[str, ...]

    @property
    def quoted(self) -> str:
        return "|".join(sorted(self.names))


CHANNELS = Rule(
    frozenset(
        {*Channel.forms, *MECHANISMS, *KINDS, *COMBINED, *PLANNED, "exponential", "one_bit", "square_wave"}
    ),
    frozenset(
        {
            *(form.__name__ for form in Channel.forms.values()),
            *(mechanism.__name__ for mechanism in MECHANISMS.values()),
            *(type(kind).__name__ for kind in KINDS.values()),
        }
    ),
    (
        "client/hushpoll_client/channel/",
        "client/hushpoll_client/mechanism/",
        "client/hushpoll_client/kind/",
        "client/hushpoll_client/js/channel.js",
        "client/hushpoll_client/js/mechanism.js",
        "client/hushpoll_client/js/kind.js",
        "client/hushpoll_client/js/extra_channels.js",
        "client/hushpoll_client/js/extra_kinds.js",
        "analysis/hushpoll_analysis/channel/",
        "server/hushpoll_server/workspace/kinds/",
        "server/hushpoll_server/store/migrations/",
    ),
)
SCALES = {"logit", "asin", "beta"}
INTERVALS = Rule(
    frozenset({*METHODS, *SCALES, "t"} - {"auto"}),
    frozenset(
        {
            "Wilson",
            "Blaker",
            "ClopperPearson",
            "Jeffreys",
            "Wald",
            "Score",
            "Mover",
            "LikelihoodRatio",
            "Bootstrap",
        }
    ),
    # In regression "logit" is a family of models.
    ("analysis/hushpoll_analysis/interval/", "analysis/hushpoll_analysis/regression/"),
)
# Goes down only: the decisions by the name of an interval method that are left.
METHOD_DECISIONS = 0
# This number may only fall: the classes other than `Estimate` with a standard error and limits.
ESTIMATE_CLASSES = 6


def sources(rule: Rule, *endings: str) -> Iterator[tuple[str, str]]:
    for room in ("client", "analysis", "server"):
        for file in sorted((ROOT / room).rglob("*")):
            name = file.relative_to(ROOT).as_posix()
            if file.suffix in endings and not name.startswith(rule.folders):
                yield name, file.read_text(encoding="utf-8")


def named(node: ast.AST, rule: Rule) -> bool:
    """Whether an expression is one of the names, or lists one."""
    if isinstance(node, ast.Constant):
        return node.value in rule.names if isinstance(node.value, str) else False
    if isinstance(node, ast.Attribute):  # Designed.name is a name too
        return node.attr in ("name", "form", "combine") and last_name(node.value) in rule.classes
    return isinstance(node, ast.Tuple | ast.List | ast.Set) and any(
        named(element, rule) for element in node.elts
    )


def in_python(text: str, rule: Rule = CHANNELS) -> Iterator[int]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            key = isinstance(node.ops[0], ast.In | ast.NotIn) and isinstance(node.left, ast.Constant)
            if any(named(side, rule) for side in node.comparators) or (named(node.left, rule) and not key):
                yield node.lineno
        elif isinstance(node, ast.MatchValue) and named(node.value, rule):
            yield node.value.lineno
        elif lists_names(node, rule) or asks_for_a_class(node, rule):
            yield node.lineno


def lists_names(node: ast.AST, rule: Rule) -> bool:
    return isinstance(node, ast.Dict) and sum(key is not None and named(key, rule) for key in node.keys) >= 2


def asks_for_a_class(node: ast.AST, rule: Rule) -> bool:
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "isinstance":
        return False
    return bool(rule.classes & {last_name(element) for element in ast.walk(node.args[1])})


def last_name(node: ast.AST) -> str:
    """Return the name of a variable, or of an attribute as in `module.Class`."""
    return str(getattr(node, "id", getattr(node, "attr", "")))


QUOTED = CHANNELS.quoted


def in_jinja(text: str) -> Iterator[int]:
    for match in re.finditer(r"{[{%].*?[%}]}", text, re.DOTALL):
        compared = rf"""[=!]=\s*["']({QUOTED})["']|["']({QUOTED})["']\s*[=!]=|\bin\s*[(\[][^)\]]*["']({QUOTED})["']"""
        for _ in re.finditer(compared, match[0]):
            yield text.count("\n", 0, match.start()) + 1


def in_javascript(text: str) -> Iterator[int]:
    bare = re.sub(r"//[^\n]*|/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL)
    bare = re.sub(r"typeof [\w.?[\]]+ [!=]== \"number\"", lambda match: " " * len(match[0]), bare)
    compared = rf"""[!=]==?\s*["']({QUOTED})["']|["']({QUOTED})["']\s*[!=]==?|case\s+["']({QUOTED})["']"""
    listed = rf"""includes\(\s*["']({QUOTED})["']|\[[^\[\]]*["']({QUOTED})["'][^\[\]]*\]\s*\.(includes|indexOf)\("""
    for decision in (*re.finditer(compared, bare), *re.finditer(listed, bare)):
        yield bare.count("\n", 0, decision.start()) + 1
    open_at: list[tuple[int, int]] = []
    for token in re.finditer(rf"""[{{}}]|(?<=[{{,\s])["']?({QUOTED})["']?:""", bare):
        if token[0] == "{":
            open_at.append((token.start(), 0))
        elif token[0] == "}" and open_at:
            start, keys = open_at.pop()
            if keys >= 2:
                yield bare.count("\n", 0, start) + 1
        elif open_at:
            open_at[-1] = (open_at[-1][0], open_at[-1][1] + 1)


def everywhere() -> list[str]:
    ways = {".py": in_python, ".html": in_jinja, ".svg": in_jinja, ".js": in_javascript}
    return [
        f"{name}:{line}"
        for ending, find in ways.items()
        for name, text in sources(CHANNELS, ending)
        for line in find(text)
    ]


def test_names_decide_nothing_outside_their_own_folder() -> None:
    decisions = everywhere()
    assert not decisions, "\n".join(decisions)


def test_interval_methods_decide_nothing_outside_their_folder() -> None:
    decisions = [
        f"{name}:{line}"
        for name, text in sources(INTERVALS, ".py")
        if name.startswith("analysis/")
        for line in in_python(text, INTERVALS)
    ]
    assert len(decisions) == METHOD_DECISIONS, "\n".join(decisions)


def estimate_classes(text: str) -> list[str]:
    """Return the classes that declare a standard error and limits of their own."""
    return [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and declared(node) >= {"se", "low", "high"}
    ]


def declared(node: ast.ClassDef) -> set[str]:
    return {last_name(entry.target) for entry in node.body if isinstance(entry, ast.AnnAssign)}


def test_estimates_have_one_class() -> None:
    classes = [
        f"{file.name}:{name}"
        for file in sorted((ROOT / "analysis").rglob("*.py"))
        if file.name != "estimates.py"
        for name in estimate_classes(file.read_text(encoding="utf-8"))
    ]
    assert len(classes) == ESTIMATE_CLASSES, "\n".join(classes)


def test_a_second_class_with_limits_is_detected() -> None:
    source = "class Mean:\n    estimate: float\n    se: float\n    low: float\n    high: float = 0.0\n"
    assert estimate_classes(source) == ["Mean"]
    assert estimate_classes("class Axis:\n    low: float\n    high: float\n") == []


@pytest.mark.parametrize(
    "text",
    [
        'if mechanism.name == "krr": pass',
        'if "warner" != name: pass',
        'if kind in ("yes_no", "x"): pass',
        'LABELS = {"warner": 1, "krr": 2}',
        "if isinstance(channel, KaryChannel): pass",
        "if isinstance(channel, subset.SubsetChannel): pass",
        "if isinstance(kind, YesNo | Scale): pass",
        "if name != Designed.name: pass",
        "if channel.form in (krr.KaryChannel.form, other): pass",
        'match combine:\n    case "or": pass',
    ],
)
def test_python_that_decides_by_a_name_is_detected(text: str) -> None:
    assert list(in_python(text))


def test_a_document_s_key_may_be_asked_for() -> None:
    assert not list(in_python('if "forced" in given and given.get("epsilon") is None: pass'))


def test_templates_and_scripts_are_searched_too() -> None:
    assert list(in_jinja("{% if question.kind == 'choice' %}"))
    assert list(in_jinja('{% if combine in ("same", "pair") %}'))
    assert not list(in_jinja('<div class="choice">{{ choice }}</div>'))
    assert list(in_javascript('if (combine === "or") go();'))
    assert list(in_javascript('const how = { or: "a", same: "b" };'))
    assert list(in_javascript('const how = { "or": "a", "same": "b" };'))
    assert list(in_javascript('if (["krr", "warner"].includes(name)) go();'))
    assert list(in_javascript('if (names.includes("krr")) go();'))
    assert any(name.endswith(".svg") for name, _ in sources(CHANNELS, ".svg"))
    assert not list(in_javascript('if (typeof value === "number") go(); // kind === "choice"'))
