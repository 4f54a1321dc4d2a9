"""The languages of a draft by name, and how complete they are."""

from __future__ import annotations

from babel import Locale, UnknownLocaleError

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import language as spoken
from hushpoll_server.i18n.translation import ngettext
from hushpoll_server.workspace.drafts import stale_translations
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.drafts.translated_texts import (
    completeness,
)


def language_name(tag: str) -> str:
    """Return the name of a language in the reader's language; an unknown tag is returned unchanged."""
    try:
        return str(Locale.parse(tag, sep="-").get_display_name(spoken()) or tag)
    except (UnknownLocaleError, ValueError):
        return tag


def language_summary(draft: Draft) -> list[str]:
    """Return how complete every translation is, such as "fr 7 of 12", and how much may be out of date."""
    lines = []
    for tag in draft.translations:
        have, of = completeness(draft.document, tag)
        old = stale_text(draft, tag)
        line = f"{tag} " + _("%(have)s of %(all)s", have=have, all=of)
        if old:
            line += f" ({old})"
        lines.append(line)
    return lines


def stale_text(draft: Draft, tag: str) -> str:
    """Return how many texts of a language may be out of date, as text; "" if none."""
    old = len(stale_translations.outdated(draft.document, draft.fitting, tag))
    if old:
        return ngettext("%(num)s may be out of date", "%(num)s may be out of date", old)
    return ""
