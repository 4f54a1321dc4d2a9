"""Where the workspace's Help link leads: to the page and heading of the documentation about the step that is open."""

from __future__ import annotations

from flask import request, url_for

FIRST = ("publish", None)
_OF_A_DRAFT = ("publish", "write-the-questions")
_OF_A_SURVEY = ("publish", "hand-it-out")
HELP_PLACES: dict[str, tuple[str, str | None]] = {
    "workspace.survey_list": ("publish", "start-a-survey"),
    "workspace.draft": _OF_A_DRAFT,
    "workspace.questions": _OF_A_DRAFT,
    "workspace.in_place": _OF_A_DRAFT,
    "workspace.blocks": _OF_A_DRAFT,
    "workspace.presentation": _OF_A_DRAFT,
    "workspace.languages": _OF_A_DRAFT,
    "workspace.paper": _OF_A_DRAFT,
    "workspace.collaboration": ("publish", "work-with-others"),
    "workspace.privacy": ("publish", "choose-privacy-and-accuracy"),
    "workspace.preview": ("publish", "preview-and-rehearse"),
    "workspace.rehearsal": ("publish", "preview-and-rehearse"),
    "workspace.publishing": ("publish", "before-you-publish"),
    "workspace.survey": _OF_A_SURVEY,
    "workspace.sharing": _OF_A_SURVEY,
    "workspace.links": _OF_A_SURVEY,
    "workspace.invitations": _OF_A_SURVEY,
    "workspace.closing": ("publish", "close-it"),
    "results": ("results", None),
}
"""Page and heading by blueprint."""


def help_address() -> str:
    """Return the address of the help about the page that is being shown."""
    page, heading = HELP_PLACES.get(request.blueprint or "", FIRST)
    return url_for("manual.page", name=page, _anchor=heading)
