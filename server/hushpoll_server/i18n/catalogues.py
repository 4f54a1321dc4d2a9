"""The catalogues of translations: extracted from the sources by Babel, one for each language.

After a change of a sentence, run `python -m hushpoll_server.i18n.catalogues` in a checkout. It adds new sentences to
every messages.po, deletes those that are gone, and prints what is missing. babel.cfg says which files are read.
hatch_build.py compiles the catalogues, at a build, for `make run` and for the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po, write_po

from .languages import LANGUAGES, WORKSPACE_LANGUAGES

__all__ = ["FOLDER", "extracted", "path_of", "problems", "read_catalogue", "updated"]

FOLDER = Path(__file__).parent / "translations"
_MAPPING = Path(__file__).with_name("babel.cfg")
_CHECKOUT = Path(__file__).resolve().parents[3]

_ERRORS = (
    "AccountError",
    "AnalysisError",
    "BrokenPromise",
    "ChannelError",
    "DocumentError",
    "DraftIsPublished",
    "HushpollError",
    "LogoError",
    "MailError",
    "MechanismError",
    "NotIdentifiedError",
    "ReportError",
    "StaleDraft",
    "SubmitError",
)
# Which arguments of which functions are sentences. Babel takes one sentence, or a singular and a plural, from a call;
# errors hold a problem and a remedy, so their calls are read twice.
_KEYWORDS: tuple[Mapping[str, Any], ...] = (
    {
        **DEFAULT_KEYWORDS,
        **dict.fromkeys(("lazy_gettext", "later", "msg", "noted", "speak")),
        **dict.fromkeys(_ERRORS, (1,)),
        **dict.fromkeys(("Problem", "SurveyError", "abort", "about", "plural"), (2,)),
    },
    {
        **dict.fromkeys(_ERRORS, (2,)),
        **dict.fromkeys(("SurveyError", "about", "plural"), (3,)),
    },
    {"MechanismError": (4,)},
)
_RESPONDENTS = re.compile(r"server/hushpoll_server/respond/(?:languages\.py|paper\.py|templates/)")
"""Where the sentences are that need every language; the others need those of the workspace."""
_PERCENT_PLACE = re.compile(r"%\(\w+\)")


def extracted(every_language: bool = False) -> Catalog:
    """Return a catalogue of all sentences in the sources, or only of those that need every language."""
    with _MAPPING.open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]
    template = Catalog(project="hushpoll", fuzzy=False)
    # The packages one by one: a checkout holds much else.
    for package in ("client/hushpoll_client", "analysis/hushpoll_analysis", "server/hushpoll_server"):
        for number, keywords in enumerate(_KEYWORDS):
            entries = extract_from_dir(
                _CHECKOUT / package,
                [(pattern.removeprefix(f"{package}/"), method) for pattern, method in methods],
                {pattern.removeprefix(f"{package}/"): value for pattern, value in options.items()},
                keywords=keywords,
            )
            for name, _line, text, _comments, context in entries:
                location = f"{package}/{name}"
                if every_language and not _RESPONDENTS.match(location):
                    continue
                if number and " " not in text:
                    continue  # the name of a field, given by keyword where a remedy could be
                if has_words(_texts(text)[0]):
                    template.add(text, locations=[(location, 0)], context=context)
    return template


def has_words(text: str) -> bool:
    """Return whether a sentence has anything to translate besides its values."""
    try:
        literals = [literal for literal, *_ in Formatter().parse(text)]
    except ValueError:  # braces that are not places
        literals = [text]
    return any(sign.isalpha() or sign in "“”[" for literal in literals for sign in literal)


def path_of(language: str, suffix: str = ".po") -> Path:
    """Return where a language's catalogue is."""
    return FOLDER / language / "LC_MESSAGES" / f"messages{suffix}"


def translated_languages() -> list[str]:
    """Return every language with a catalogue; English needs none."""
    return [language for language in LANGUAGES if language != "en"]


def read_catalogue(language: str) -> Catalog:
    """Return a language's catalogue as it is stored."""
    with path_of(language).open("rb") as file:
        return read_po(file, locale=language)


def updated(catalog: Catalog) -> Catalog:
    """Return a catalogue with the sentences of today: it keeps their translations and guesses none."""
    language = str(catalog.locale)
    template = extracted(every_language=language not in WORKSPACE_LANGUAGES)
    catalog.update(template, no_fuzzy_matching=True, update_creation_date=False)
    catalog.obsolete.clear()
    return catalog


def problems(catalog: Catalog) -> Iterator[tuple[Message, str]]:
    """Yield what is wrong with entries: not translated, fuzzy, or with other places than the English sentence."""
    for entry in catalog:
        if not entry.id:
            continue
        strings = _texts(entry.string)
        if not all(text.strip() for text in strings):
            yield entry, "is not translated"
            continue
        if entry.fuzzy:
            yield entry, "is fuzzy"
        _drop_false_format(entry)
        for error in entry.check(catalog):
            yield entry, str(error)
        expected = places(_texts(entry.id)[-1])
        if any(places(text) != expected for text in strings):
            yield entry, "has other places"


def _texts(text: Any) -> tuple[str, ...]:
    """Return a sentence, or its singular and its plurals, as a tuple."""
    if isinstance(text, str):
        return (text,)
    return tuple(text or ("",))


def _drop_false_format(entry: Message) -> None:
    """Let Babel read "95 % of {n}" as what it is: it takes the "% o" in it for a place of Python's % operator."""
    if not any(_PERCENT_PLACE.search(text) for text in _texts(entry.id)):
        entry.flags.discard("python-format")


def places(text: str) -> list[str]:
    """Return the places for values in a sentence, as `{most:,}` or `%(most)s`, and its markup."""
    names: list[str] = []
    if _PERCENT_PLACE.search(text):
        names = re.findall(r"%\(\w+\)s|%%|</?\w+[^>]*>", text)
    try:
        fields = list(Formatter().parse(text))
    except ValueError:  # braces that are not places
        return sorted(names)
    for _, name, form, conversion in fields:
        if not name:
            continue
        field = name
        if conversion:
            field += f"!{conversion}"
        if form:
            field += f":{form}"
        names.append(f"{{{field}}}")
    return sorted(names)


def main() -> None:
    """Bring every catalogue up to date and print what is missing."""
    for language in translated_languages():
        catalog = updated(read_catalogue(language))
        with path_of(language).open("wb") as file:
            write_po(file, catalog, width=110, ignore_obsolete=True, include_lineno=False)
        wrong = list(problems(catalog))
        print(f"{language}: {len(catalog)} sentences, {len(wrong)} to correct")
        for entry, problem in wrong:
            print(f"  {entry.id!r} {problem} {entry.locations}")


if __name__ == "__main__":
    main()
