"""Words from the database that pages translate; listed here for the catalogues."""

from __future__ import annotations

from flask_babel import lazy_gettext as later

WORDS = (
    # The state of a survey.
    later("open"),
    later("closed"),
    # What a token may do.
    later("publish surveys"),
    later("make invitations"),
    later("read estimates"),
    later("download sealed reports"),
    later("send many reports at once"),
    # What a question of a block is asked by.
    later("Asked in a block"),
    # Numbers that are none.
    later("unbounded"),
    later("without limit"),
)
