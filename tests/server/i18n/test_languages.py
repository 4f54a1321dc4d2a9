"""The list of languages, and how each is written."""

from __future__ import annotations

import pytest
from hushpoll_analysis.results.wording import LANGUAGES as CODES
from hushpoll_analysis.results.wording import wording
from hushpoll_server.i18n.languages import LANGUAGES, WORKSPACE_LANGUAGES, direction_of


def test_pages_and_results_have_the_same_languages_each_by_its_own_name() -> None:
    assert LANGUAGES == {
        "en": "English",
        "fr": "Français",
        "de": "Deutsch",
        "es": "Español",
        "ar": "العربية",
    }
    assert tuple(LANGUAGES) == CODES
    assert WORKSPACE_LANGUAGES == {"en": "English", "de": "Deutsch"}


@pytest.mark.parametrize(
    ("language", "direction"), [("en", "ltr"), ("ar", "rtl"), ("he", "rtl"), ("pt-BR", "ltr")]
)
def test_the_direction_is_that_of_the_script(language: str, direction: str) -> None:
    assert direction_of(language) == direction


def test_results_have_the_same_direction() -> None:
    assert {code: wording(code).direction for code in CODES} == {code: direction_of(code) for code in CODES}
