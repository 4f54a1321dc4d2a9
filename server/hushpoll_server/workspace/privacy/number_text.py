"""Counts and epsilons as pages show them."""

from __future__ import annotations

from hushpoll_client import formatting

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number


def epsilon_text(epsilon: float) -> str:
    """Return an epsilon as text: a bound, so rounded up."""
    return localize_number(formatting.epsilon_text(epsilon, 2))


def count_text(number: int | None) -> str:
    """Return a count as text; None is a number that cannot be reached."""
    if number is None:
        return _("out of reach")
    return localize_number(f"{number:,}")
