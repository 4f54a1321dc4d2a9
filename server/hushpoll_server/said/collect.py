"""Collect the sentences of the rooms below the pages, and bring their translations up to date.

Run it after a change of a sentence: `python -m hushpoll_server.said.collect`. It adds what is new to every messages.po,
takes away what nobody says any more, and compiles; a test fails until then, and until every sentence is translated.

Collected are templates given to `msg` and `plural`, constant texts given to errors as problem, remedy or predicate,
what the pages of results `speak`, and what mechanisms, kinds, parameters and methods declare. Of the analysis only
modules that use `msg` count: the others speak to programmers and to the command line, in English.
"""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Formatter

import hushpoll_analysis
import hushpoll_client
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from hushpoll_analysis.interval.registry import METHODS, interval_method
from hushpoll_client.errors import HushpollError
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import MECHANISMS, Mechanism
from hushpoll_client.mechanism.member import Member
from jinja2.ext import babel_extract

import hushpoll_server

__all__ = ["FOLDER", "collected", "compiled", "places", "updated"]

FOLDER = Path(__file__).parent / "translations"

_CLIENT = Path(hushpoll_client.__file__).parent
_ANALYSIS = Path(hushpoll_analysis.__file__).parent
_SERVER = Path(hushpoll_server.__file__).parent
_TERMINAL = {"ledger.py", "link.py", "memory.py", "send.py"}
"""Modules of the client that only a terminal uses; it speaks English."""
_WORKSPACE = (
    "drafts",
    "invitations",
    "languages",
    "paper",
    "presentation",
    "privacy",
    "questions",
    "sharing",
    "survey_list",
)
_RULES = (
    "collect",
    "people",
    "store/surveys.py",
    "mail.py",
    "respond/logos.py",
    "results/minimum.py",
    "workspace/*.py",
    *(f"workspace/{folder}" for folder in _WORKSPACE),
)
"""Where the server raises errors that pages show."""

_SAYING = {"msg": 1, "plural": 3}
"""Functions that take sentences, and how many of their first arguments may be one."""
_DECLARED = ("label", "help", "design", "symbols", "hint", "missing")
"""What mechanisms, kinds and parameters say of themselves on pages."""


_WORD = re.compile("[a-z]{3}")
"""What makes a formula a sentence."""


def collected() -> dict[str, set[str]]:
    """Return every sentence, with the files that say it."""
    found: dict[str, set[str]] = {}
    for text, place in (*_written(), *_drawn(), *_declared()):
        if any(map(_has_words, (part for part, *_ in Formatter().parse(_escaped(text))))):
            found.setdefault(text, set()).add(place)
    return found


def places(text: str) -> set[str]:
    """Return the places of a sentence, as `{most:,}`, which must be the same in every language."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError:  # a constant text with braces of its own
        return set()
    return {
        f"{{{name}{'!' + how if how else ''}{':' + form if form else ''}}}"
        for _, name, form, how in parts
        if name
    }


def updated(catalog: Catalog) -> Catalog:
    """Return a catalogue with today's sentences: translations are kept, none is guessed."""
    made = Catalog(
        locale=catalog.locale,
        project="hushpoll",
        version="1",
        header_comment=catalog.header_comment,
        creation_date=catalog.creation_date,
        revision_date=catalog.revision_date,
        last_translator="The hushpoll authors",
        language_team="The hushpoll authors",
        fuzzy=False,
    )
    for text, files in sorted(collected().items(), key=lambda one: (min(one[1]), one[0])):
        known = catalog.get(text)
        made.add(text, known.string if known else "", locations=[(file, 0) for file in sorted(files)])
    return made


def compiled(catalog: Catalog) -> bytes:
    """Return what gettext reads."""
    made = io.BytesIO()
    write_mo(made, catalog)
    return made.getvalue()


def _has_words(part: str) -> bool:
    """Return whether a language could say this in its own way: words, or signs that stand around them or numbers."""
    return any(sign.isalpha() or sign in "“”[" for sign in part)


def _escaped(text: str) -> str:
    """Return a text that a formatter can take apart, also where its braces are its own."""
    try:
        list(Formatter().parse(text))
    except ValueError:
        return text.replace("{", "").replace("}", "")
    return text


def _written() -> Iterator[tuple[str, str]]:
    """Find the sentences in the sources."""
    trees = [(path, root, ast.parse(path.read_text("utf-8"))) for path, root in _sources()]
    family = _family([tree for _, _, tree in trees])
    for path, root, tree in trees:
        if root == _ANALYSIS and not any(map(_imports_msg, ast.walk(tree))):
            continue
        module, place = _Module(tree, family), path.relative_to(root.parent).as_posix()
        yield from ((text, place) for text in module.texts())


def _drawn() -> Iterator[tuple[str, str]]:
    """Find the sentences in the templates of results."""
    for path in sorted((_ANALYSIS / "results" / "templates").glob("*.html")):
        with path.open("rb") as file:
            for _line, _function, text, _comments in babel_extract(file, ("msg", "speak"), (), {}):
                # With values beside it, a sentence is the first of several.
                first = text[0] if isinstance(text, tuple) else text
                if first:
                    yield first, path.relative_to(_ANALYSIS.parent).as_posix()


def _sources() -> Iterator[tuple[Path, Path]]:
    for path in sorted(_CLIENT.rglob("*.py")):
        if path.name not in _TERMINAL and path.parent.name != "cli":
            yield path, _CLIENT
    for path in sorted(_ANALYSIS.rglob("*.py")):
        yield path, _ANALYSIS
    for rule in _RULES:
        found = _SERVER / rule
        for path in sorted(found.rglob("*.py") if found.is_dir() else _SERVER.glob(rule)):
            yield path, _SERVER


def _imports_msg(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "hushpoll_client.messages"


def _family(trees: Iterable[ast.Module]) -> set[str]:
    """Name the errors that carry problem and remedy: what is derived from the client's, wherever it is written."""
    classes = [one for tree in trees for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
    found, before = {HushpollError.__name__}, 0
    while len(found) > before:
        before = len(found)
        found |= {one.name for one in classes if found & set(map(_name, one.bases))}
    return found


def _declared() -> Iterator[tuple[str, str]]:
    """Ask mechanisms, kinds, parameters and methods what they say of themselves."""
    mechanisms: tuple[type[Mechanism], ...] = (*MECHANISMS.values(), Member)
    parameters = [one for mechanism in mechanisms for one in mechanism.declared_parameters]
    for thing in (*mechanisms, *KINDS.values(), *parameters):
        place = (thing.__module__ if isinstance(thing, type) else type(thing).__module__).replace(".", "/")
        for name in _DECLARED:
            if text := getattr(thing, name, ""):
                yield text, f"{place}.py"
    for mechanism in mechanisms:
        if _WORD.search(mechanism.formula):
            yield mechanism.formula, f"{mechanism.__module__.replace('.', '/')}.py"
    for method in METHODS[1:]:
        yield from ((text, "hushpoll_analysis/interval") for text in (method, interval_method(method).label))


class _Module:
    """The sentences of one module."""

    def __init__(self, tree: ast.Module, family: set[str]) -> None:
        self.nodes, self.family = list(ast.walk(tree)), family
        self.given: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        self.given.setdefault(target.id, []).append(node.value)

    def texts(self) -> Iterator[str]:
        """Yield the texts of calls, each as often as it occurs."""
        for node in self.nodes:
            if isinstance(node, ast.Call):
                for argument in self._arguments(node):
                    yield from self._constants(argument)

    def _arguments(self, call: ast.Call) -> Iterable[ast.expr]:
        """Return the arguments of a call that are sentences."""
        name, of = _name(call.func), _name(getattr(call.func, "value", None))
        if name in _SAYING and not of:
            return call.args[: _SAYING[name]]
        if name == "about" and of in self.family:
            return call.args[1:3]
        if name not in self.family:
            return ()
        start = 1 if name == "SurveyError" else 0
        named = [one.value for one in call.keywords if one.arg in ("problem", "remedy", "predicate")]
        return [*call.args[start : start + 2], *call.args[3:4], *named] if start == 0 else call.args[1:3]

    def _constants(self, value: ast.expr, deep: bool = True) -> Iterator[str]:
        """Yield the constant texts that an argument can be, also by a name that was given one in this module."""
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value
        elif isinstance(value, ast.IfExp):
            yield from self._constants(value.body, deep)
            yield from self._constants(value.orelse, deep)
        elif isinstance(value, ast.BoolOp):
            for one in value.values:
                yield from self._constants(one, deep)
        elif isinstance(value, ast.Name) and deep:
            for one in self.given.get(value.id, ()):
                yield from self._constants(one, deep=False)


def _name(node: ast.AST | None) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")


def main() -> None:
    """Bring every language up to date, and say what is missing."""
    for path in sorted(FOLDER.glob("*/LC_MESSAGES/messages.po")):
        language = path.parent.parent.name
        with path.open("rb") as file:
            catalog = updated(read_po(file, locale=language))
        with path.open("wb") as file:
            write_po(file, catalog, width=110, omit_header=False)
        path.with_suffix(".mo").write_bytes(compiled(catalog))
        missing = [one.id for one in catalog if one.id and not one.string]
        print(f"{language}: {len(catalog)} sentences, {len(missing)} not translated")


if __name__ == "__main__":
    main()
