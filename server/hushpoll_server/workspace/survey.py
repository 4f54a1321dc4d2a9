"""The page of a published survey: hand out, monitor, share, run again, delete, close."""

from __future__ import annotations

import csv
import io
from typing import Any

from flask import abort, current_app, flash, redirect, render_template, request, url_for
from hushpoll_client import HushpollError, Survey, SurveyError
from hushpoll_client.delivery.link import fingerprint, survey_link
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.survey.group import named_group
from markupsafe import escape
from werkzeug.wrappers import Response

from hushpoll_server import mail
from hushpoll_server.collect import closing, invitations, retention
from hushpoll_server.config import LOOPBACK
from hushpoll_server.current_store import get_store
from hushpoll_server.fields import both, sentence
from hushpoll_server.people import sharing
from hushpoll_server.people.access import audit, can_edit, can_read_survey, current_user
from hushpoll_server.people.audit_log import Detail
from hushpoll_server.people.errors import AccountError
from hushpoll_server.respond import paper
from hushpoll_server.spoken import day
from hushpoll_server.spoken import gettext as _
from hushpoll_server.store.surveys import SurveyState
from hushpoll_server.weakness import is_weak

from . import drafts, mailing, opens, planner
from .forms import CloseForm, DeleteForm, InviteForm, ShareForm
from .groups import chosen_group, handouts, sizes_form
from .kinds import margin_text
from .letters import MergeForm, letter_form
from .pages import Page, address, address_of, bp, designer, download, editable_survey, reader
from .printed import printed


def respondent_link(survey_hash: str) -> str:
    """Return the link to hand out."""
    return survey_link(address(), survey_hash)


@bp.get("/surveys/<survey_hash>")
@reader
def survey(survey_hash: str) -> Page:
    """Show where to share, monitor and close; analysts see the monitor only."""
    return show_survey(survey_hash)


def readable_state(survey_hash: str) -> SurveyState:
    """Return the state of a survey that this account may read; 404 otherwise."""
    state = get_store().state(survey_hash)
    if state is None or not can_read_survey(current_user, survey_hash):
        abort(404, "there is no survey at this address that you may read; see the list of surveys")
    return state


def show_survey(survey_hash: str, status: int = 200, **forms: Any) -> Page:
    """Show the page of a published survey, with the forms that were refused in place of fresh ones."""
    state, store = readable_state(survey_hash), get_store()
    published = store.get_survey(survey_hash)
    assert published is not None
    count = store.count(survey_hash)
    link = respondent_link(survey_hash)
    retention_state = retention.keeping_of(store, survey_hash)
    default_forms: dict[str, Any] = {
        "share_form": ShareForm(formdata=None),
        "close_form": close_form(state),
        "invite_form": InviteForm(formdata=None),
        "merge_form": MergeForm(formdata=None),
        "letter_form": letter_form(published),
        "delete_form": DeleteForm(formdata=None, delete_on=retention_state.delete_on),
        "sizes": sizes_form(published, state) if published.groups else None,
    }
    forms.get("invite_form", default_forms["invite_form"]).group.choices = list(published.groups)
    page = render_template(
        "workspace/survey.html",
        state=state,
        survey=published,
        count=count,
        waiting=0 if state.was_closed else max(0, count - state.sealed_n),
        handouts=handouts(published, address()),
        only_here=any(f"//{name}" in link for name in LOOPBACK),
        editable=can_edit(current_user, survey_hash),
        plans=projected(published, count),
        target_plans=projected(published, state.target_n or 0),
        opened=opens.by_day(store, current_app.extensions["hushpoll_opens"], survey_hash),
        codes=invitations.counts(store, survey_hash) if published.settings.invitation else None,
        readers=sharing.shared_with(store, survey_hash),
        minimum=FEWEST_REPORTS,
        appear_at=max(2 * state.minimum_batch, state.fewest),
        kept=retention_state,
        embed=embed_code(published) if retention_state.embeddable else "",
        mailing=mailing.read(store, survey_hash) if published.settings.invitation else None,
        sends_mail=mail.is_configured(store.config),
        weak=is_weak(published),
        on_paper=paper.is_possible(published),
        waves=[wave for wave in store.waves(survey_hash) if can_read_survey(current_user, wave.hash)],
        **(default_forms | forms),
    )
    return page, status


def projected(survey: Survey, n: int) -> list[str]:
    """Return the margin of every question at n reports: what the number of reports alone tells, never an answer."""
    if n < 2:
        return []
    return [margin_text(question, planner.margin_at(question, n)) for question in survey.questions]


def close_form(state: SurveyState) -> CloseForm:
    """Return the closing form as the survey stands."""
    when = "n" if state.closes_at else "date" if state.closes_on else "never"
    return CloseForm(formdata=None, when=when, on=state.closes_on, at=state.closes_at)


@bp.post("/surveys/<survey_hash>/share")
@designer
def share(survey_hash: str) -> Page:
    """Let another account read the report."""
    editable_survey(survey_hash)
    form = ShareForm()
    if form.validate_on_submit():
        try:
            sharing.share(get_store(), survey_hash, form.name.data.strip(), actor=current_user.name)
            flash(_("%(name)s can read the report now.", name=form.name.data.strip()), "done")
            return redirect(url_for("workspace.survey", survey_hash=survey_hash) + "#share")
        except AccountError as error:
            form.name.errors = [sentence(error)]
    return show_survey(survey_hash, 422, share_form=form)


@bp.post("/surveys/<survey_hash>/unshare")
@designer
def unshare(survey_hash: str) -> Response:
    """Take the right to read back."""
    editable_survey(survey_hash)
    name = request.form.get("name", "")
    sharing.unshare(get_store(), survey_hash, name, actor=current_user.name)
    flash(_("%(name)s can no longer read the report.", name=name), "done")
    return redirect(url_for("workspace.survey", survey_hash=survey_hash) + "#share")


@bp.post("/surveys/<survey_hash>/results")
@designer
def publish_results(survey_hash: str) -> Response:
    """Publish the results, when the survey is closed or at once, or keep them to accounts with access."""
    editable_survey(survey_hash)
    choice = request.form.get("public")
    public, live = choice in ("yes", "live"), choice == "live"
    get_store().set_results_public(survey_hash, public, live)
    audit(
        "results public" if public else "results private",
        survey_hash,
        Detail("also while open") if live else "",
    )
    state = get_store().state(survey_hash)
    assert state is not None
    if state.is_public:
        done = _("Everybody with the address can read the results.")
    elif public:
        done = _("Everybody can read them when the survey is closed.")
    else:
        done = _("Only accounts with access can.")
    flash(done, "done")
    return redirect(url_for("workspace.survey", survey_hash=survey_hash) + "#share")


@bp.post("/surveys/<survey_hash>/invitations")
@designer
def invite(survey_hash: str) -> Page:
    """Make codes and give them as CSV, the only place where they will ever stand."""
    published = editable_survey(survey_hash)
    form = InviteForm()
    if form.validate_on_submit():
        try:
            group = named_group(published.groups, form.group.data if published.groups else None)
            codes = invitations.invite(get_store(), survey_hash, form.n.data, group)
            name = "" if group is None else f"-g{group}"
            group_name = "" if group is None else published.groups[group]
            audit("invitations made", survey_hash, Detail("invitations", count=len(codes), group=group_name))
            file = f"invitations-{survey_hash[:8]}{name}.csv"
            return download(_codes_csv(survey_hash, codes, group), "text/csv", file)
        except SurveyError as error:
            form.group.errors = [sentence(both(error))]
        except HushpollError as error:
            form.n.errors = [sentence(error)]
    return show_survey(survey_hash, 422, invite_form=form)


@bp.get("/surveys/<survey_hash>/<any(invitations, merge, letters, sizes, share, retention, closing):form>")
@designer
def refused_form(survey_hash: str, form: str) -> Response:
    """Lead back to the survey's page: a refused form is shown at the form's own address, which people load again."""
    editable_survey(survey_hash)
    return redirect(url_for("workspace.survey", survey_hash=survey_hash))


def _codes_csv(survey_hash: str, codes: list[str], group: int | None) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["code", "link", "fingerprint"])
    compared = fingerprint(survey_hash)
    writer.writerows((code, survey_link(address(), survey_hash, code, group), compared) for code in codes)
    return text.getvalue().encode()


@bp.get("/surveys/<survey_hash>/qr.<kind>")
@designer
def qr(survey_hash: str, kind: str) -> Response:
    """Show the respondents' link as a QR code."""
    import segno

    group = chosen_group(editable_survey(survey_hash))
    if kind not in ("svg", "png"):
        abort(404, "QR codes come as qr.svg and qr.png")
    out = io.BytesIO()
    code = segno.make(survey_link(address(), survey_hash, group=group), error="m", micro=False)
    code.save(out, kind=kind, scale=8, border=4, dark="#12211f", light="#ffffff")
    if "download" in request.args:
        mimetype = "image/svg+xml" if kind == "svg" else "image/png"
        return download(
            out.getvalue(),
            mimetype,
            f"survey-{survey_hash[:8]}{'' if group is None else f'-g{group}'}.{kind}",
        )
    return Response(out.getvalue(), mimetype="image/svg+xml" if kind == "svg" else "image/png")


@bp.get("/surveys/<survey_hash>/poster")
@designer
def poster(survey_hash: str) -> str:
    """Show a page to print and hang up."""
    published = editable_survey(survey_hash)
    return render_template(
        "workspace/poster.html",
        survey=published,
        link=respondent_link(survey_hash),
        printed=printed(published),
        group=chosen_group(published),
    )


@bp.get("/surveys/<survey_hash>/definition.json")
@reader
def definition(survey_hash: str) -> Response:
    """Send the published document, byte for byte."""
    readable_state(survey_hash)
    published = get_store().get_survey(survey_hash)
    assert published is not None
    return download(published.canonical, "application/json", f"survey-{survey_hash[:8]}.json")


@bp.post("/surveys/<survey_hash>/copy")
@designer
def copy_survey(survey_hash: str) -> Response:
    """Make a draft of a published survey; the survey stays as it is."""
    state = readable_state(survey_hash)
    published = get_store().get_survey(survey_hash)
    assert published is not None
    document, epsilon = drafts.imported(published)
    document["title"] = _("%(title)s (copy)", title=published.title[:190])
    document.pop("series", None)  # a copy is a survey of its own
    draft = drafts.create(get_store(), current_user.name, document, **_plan_of(state, epsilon))
    flash(_("This is a copy. The published survey stays as it is."), "done")
    return redirect(url_for("workspace.draft", draft_id=draft.id))


def _plan_of(state: SurveyState, epsilon: str) -> dict[str, Any]:
    """Return the plan that a survey was written for; of one that was not written here, what is known of it."""
    written = drafts.of_published(get_store(), state.hash)
    if written is None:
        return {"expected_n": state.target_n or drafts.DEFAULT_N, "epsilon": epsilon}
    return written.plan


@bp.post("/surveys/<survey_hash>/again")
@designer
def run_again(survey_hash: str) -> Response:
    """Make a draft of the next wave: the same questions, linked to the last wave of the series."""
    readable_state(survey_hash)
    last = get_store().waves(survey_hash)[-1]
    state = readable_state(last.hash)
    published = get_store().get_survey(state.hash)
    assert published is not None
    document, epsilon = drafts.imported(published)
    wave = 2 if published.series is None else published.series.wave + 1
    name = published.title if published.series is None else published.series.name
    document["series"] = {"name": name, "wave": wave, "previous": published.hash}
    draft = drafts.create(get_store(), current_user.name, document, **_plan_of(state, epsilon))
    flash(
        _(
            "This is wave %(n)s. Its questions must stay as they are; privacy, title and introduction may change.",
            n=wave,
        ),
        "done",
    )
    return redirect(url_for("workspace.draft", draft_id=draft.id))


def embed_code(survey: Survey) -> str:
    """Return the lines that show the public results on another site."""
    source = address_of(url_for("results.embedded", survey_hash=survey.hash))
    return f'<iframe src="{source}" title="{escape(survey.title)}" width="100%" height="700" loading="lazy"></iframe>'


@bp.post("/surveys/<survey_hash>/embedding")
@designer
def embedding(survey_hash: str) -> Response:
    """Let other sites show the public results in a frame, or end that."""
    editable_survey(survey_hash)
    allowed = request.form.get("embed") == "yes"
    retention.set_embeddable(get_store(), survey_hash, allowed, current_user.name)
    flash(
        _("Other sites may show the public results.") if allowed else _("No other site may show them."),
        "done",
    )
    return redirect(url_for("workspace.survey", survey_hash=survey_hash) + "#share")


@bp.post("/surveys/<survey_hash>/retention")
@designer
def plan_deletion(survey_hash: str) -> Page:
    """Set the day on which every report is deleted, or take it back."""
    editable_survey(survey_hash)
    form = DeleteForm()
    if form.validate_on_submit():
        try:
            retention.set_day(get_store(), survey_hash, form.delete_on.data, current_user.name)

            if form.delete_on.data:
                flash(_("All reports will be deleted on %(day)s.", day=day(form.delete_on.data)), "done")
            else:
                flash(_("No day is set."), "done")
            return redirect(url_for("workspace.survey", survey_hash=survey_hash) + "#close")
        except HushpollError as error:
            form.delete_on.errors = [sentence(error)]
    return show_survey(survey_hash, 422, delete_form=form)


@bp.post("/surveys/<survey_hash>/closing")
@designer
def schedule_closing(survey_hash: str) -> Page:
    """Close after a day, or at a number of reports."""
    editable_survey(survey_hash)
    form = CloseForm()
    valid = form.validate_on_submit()
    when = form.when.data
    if valid and when == "date" and form.on.data is None:
        form.on.errors = [_("Choose a day.")]
    elif valid and when == "n" and form.at.data is None:
        form.at.errors = [_("Type a number of reports.")]
    elif valid:
        try:
            _schedule(survey_hash, form)
            audit("closing planned", survey_hash, _closing_detail(form))
            flash(_scheduled(form), "done")
            return redirect(url_for("workspace.survey", survey_hash=survey_hash) + "#close")
        except HushpollError as error:
            (form.on if when == "date" else form.at).errors = [sentence(error)]
    return show_survey(survey_hash, 422, close_form=form)


def _schedule(survey_hash: str, form: CloseForm) -> None:
    # Only one of the two at a time: a page that says one thing must not do another.
    on = form.on.data if form.when.data == "date" else None
    at = form.at.data if form.when.data == "n" else None
    closing.plan(get_store(), survey_hash, on, at)


def _closing_detail(form: CloseForm) -> Detail:
    if form.when.data == "date":
        return Detail("closes after", day=form.on.data.isoformat())
    if form.when.data == "n":
        return Detail("closes at", count=form.at.data)
    return Detail("stays open")


def _scheduled(form: CloseForm) -> str:
    """Return when the survey closes."""
    if form.when.data == "date":
        return _("Closes after %(day)s.", day=day(form.on.data))
    if form.when.data == "n":
        return _("Closes at %(n)s reports.", n=planner.whole(form.at.data))
    return _("Stays open until you close it.")


@bp.route("/surveys/<survey_hash>/close", methods=["GET", "POST"])
@designer
def close_survey(survey_hash: str) -> Page:
    """Ask, then close."""
    published = editable_survey(survey_hash)
    if request.method == "GET":
        count = get_store().count(survey_hash)
        return render_template("workspace/close.html", survey=published, count=count, minimum=FEWEST_REPORTS)
    store = get_store()
    if closing.close(store, survey_hash, actor=current_user.name, wait=False):
        waits = store.count(survey_hash) > store.sealed_count(survey_hash)
        flash(
            _("Closed. Nothing was deleted; the last reports will be counted in a moment.")
            if waits
            else _("Closed. Nothing was deleted; the report is complete now."),
            "done",
        )
    else:
        flash(_("This survey was closed before."), "problem")
    return redirect(url_for("workspace.survey", survey_hash=survey_hash))
