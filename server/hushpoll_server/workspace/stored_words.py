"""Words that come from elsewhere, from the database or from a library, so that the catalogues have them too."""

from __future__ import annotations

from flask_babel import lazy_gettext as later

__all__ = ["WORDS"]

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
    # What the web framework says of requests.
    later("The browser (or proxy) sent a request that this server could not understand."),
    later(
        "You don't have the permission to access the requested resource. It is either read-protected or not readable by"
        " the server."
    ),
    later(
        "The requested URL was not found on the server. If you entered the URL manually please check your spelling and"
        " try again."
    ),
    later("The method is not allowed for the requested URL."),
    # Numbers that are none.
    later("unbounded"),
    later("without limit"),
)
