"""Forms for when a survey closes and when its reports are deleted."""

from __future__ import annotations

from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from wtforms import DateField, RadioField
from wtforms.validators import NumberRange, Optional

from hushpoll_server.fields import WholeField, choices
from hushpoll_server.workspace.drafts.draft import LARGEST_N


class CloseForm(FlaskForm):  # type: ignore[misc]
    """When to stop taking reports."""

    when = RadioField(
        later("When"),
        choices=choices(
            [
                ("date", later("After a date")),
                ("n", later("At a number of reports")),
                ("never", later("When I close it")),
            ]
        ),
        default="date",
    )
    on = DateField(later("Last day (UTC)"), [Optional()])
    at = WholeField(
        later("Number of reports"),
        [Optional(), NumberRange(1, LARGEST_N, later("Type a whole number from 1."))],
    )


class DeleteForm(FlaskForm):  # type: ignore[misc]
    """When to delete every report."""

    delete_on = DateField(
        later("Delete all reports on (UTC)"),
        [Optional()],
        description=later("Download the results before that day. Leave it empty to keep the reports."),
    )
