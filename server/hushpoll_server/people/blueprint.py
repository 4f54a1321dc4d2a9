"""What the pages about people share: the blueprint with its guards, and how they write times."""

from __future__ import annotations

import datetime
from typing import cast

from flask import Blueprint, Flask

from .access import guard_forms, init_app, keep_private

bp = Blueprint("accounts", __name__, template_folder="templates")
bp.record_once(lambda state: init_app(cast(Flask, state.app)))
bp.before_request(guard_forms)
bp.after_request(keep_private)


@bp.app_template_filter("when")
def when(seconds: int | None) -> str:
    """Write a time of the store for people, in UTC."""
    if seconds is None:
        return ""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%-d %B %Y, %H:%M UTC")
