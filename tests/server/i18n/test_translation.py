"""What the client, the analysis and the store say in English, said again in the reader's language."""

from __future__ import annotations

from pathlib import Path

import pytest
from babel.messages import Catalog
from babel.messages.mofile import write_mo
from flask import Flask
from flask_babel import gettext, ngettext
from hushpoll_client.errors import HushpollError, ReportError, SurveyError
from hushpoll_client.messages import msg
from hushpoll_server.i18n import translation
from hushpoll_server.i18n.translation import translate

GERMAN = {
    "at most {most} options": "höchstens {most} Optionen",
    "{n:,} reports, {share:.1%}, {x:.2f} in all": "{n:,} Meldungen, {share:.1%}, zusammen {x:.2f}",
    "in {place}: {told}": "{told} ({place})",
    "take fewer": "nehmen Sie weniger",
    "plain": "schlicht",
    "both": "beide: von zweien",
}


def _write(
    folder: Path, messages: dict[str | tuple[str, str], str | tuple[str, str]], tag: str = "de"
) -> None:
    catalogue = Catalog(locale=tag)
    for source, translated in messages.items():
        catalogue.add(source, translated)
    target = folder / tag / "LC_MESSAGES"
    target.mkdir(parents=True)
    with (target / "messages.mo").open("wb") as file:
        write_mo(file, catalogue)


@pytest.fixture
def speaking(tmp_path: Path) -> Flask:
    """An application with three catalogues, one of which is missing in German and one of which has more languages."""
    _write(tmp_path / "one", dict(GERMAN))
    _write(
        tmp_path / "last",
        {"both": "beide", ("%(num)d man", "%(num)d men"): ("%(num)d Mann", "%(num)d Männer")},
    )
    app = Flask("speaking")
    folders = [tmp_path / "one", tmp_path / "missing", tmp_path / "last"]
    app.config["BABEL_TRANSLATION_DIRECTORIES"] = ";".join(map(str, folders))
    translation.init_app(app)
    return app


def test_a_sentence_is_filled_in_anew_with_numbers_as_the_language_writes_them(speaking: Flask) -> None:
    message = msg("{n:,} reports, {share:.1%}, {x:.2f} in all", n=12345, share=0.125, x=1.5)
    with speaking.test_request_context("/"):
        assert translate(message) == str(message) == "12,345 reports, 12.5%, 1.50 in all"
    with speaking.test_request_context("/", headers={"Accept-Language": "de"}):
        assert translate(message) == "12.345 Meldungen, 12,5\xa0%, zusammen 1,50"


def test_sentences_inside_a_sentence_are_said_too_and_texts_stay_as_they_are(speaking: Flask) -> None:
    message = msg("in {place}: {told}", place="1.5 {x}", told=msg("at most {most} options", most=9))
    with speaking.test_request_context("/", headers={"Accept-Language": "de"}):
        assert translate(message) == "höchstens 9 Optionen (1.5 {x})"
        assert translate("plain") == "schlicht"
        assert translate("100% of {nothing}") == "100% of {nothing}"
        assert translate("") == ""


def test_an_error_is_said_with_its_place_and_its_remedy(speaking: Flask) -> None:
    problem = msg("at most {most} options", most=9)
    errors = {
        HushpollError("plain"): "schlicht",
        HushpollError(problem, "take fewer"): "höchstens 9 Optionen; nehmen Sie weniger",
        SurveyError(["title"], problem, "take fewer"): "title: höchstens 9 Optionen; nehmen Sie weniger",
        ReportError(problem, "take fewer", "q1"): "q1: höchstens 9 Optionen; nehmen Sie weniger",
    }
    for error, german in errors.items():
        with speaking.test_request_context("/"):
            assert translate(error) == str(error)
        with speaking.test_request_context("/", headers={"Accept-Language": "de"}):
            assert translate(error) == german


def test_catalogues_are_read_together_the_last_wins_and_a_missing_one_does_no_harm(speaking: Flask) -> None:
    with speaking.test_request_context("/", headers={"Accept-Language": "de"}):
        assert gettext("plain") == "schlicht"
        assert gettext("both") == "beide"
        assert [ngettext("%(num)d man", "%(num)d men", n) for n in (1, 2)] == ["1 Mann", "2 Männer"]
    with speaking.test_request_context("/"):
        assert ngettext("%(num)d man", "%(num)d men", 2) == "2 men"


def test_outside_of_a_request_everything_is_english(speaking: Flask) -> None:
    with speaking.app_context():
        assert translate(msg("at most {most} options", most=9)) == "at most 9 options"
    assert translate(msg("at most {most} options", most=9)) == "at most 9 options"
