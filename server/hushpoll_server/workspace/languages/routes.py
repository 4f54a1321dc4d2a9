"""The languages of a survey: every text next to its original, how much of each is done, files in and out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flask import Blueprint, abort, flash, jsonify, redirect, render_template, request, url_for
from flask_babel import lazy_gettext as later
from hushpoll_client import HushpollError, SurveyError, strict_json
from hushpoll_client.survey.translations import read_language, read_translations
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import both, sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import translate
from hushpoll_server.workspace.access import designer, open_draft
from hushpoll_server.workspace.autosave import autosave, field_errors
from hushpoll_server.workspace.drafts import stale_translations, storage
from hushpoll_server.workspace.drafts.documents import Document
from hushpoll_server.workspace.drafts.draft import Draft, StaleDraft
from hushpoll_server.workspace.drafts.translated_texts import (
    Path,
    completeness,
    next_to_originals,
    shaped_translation,
    texts_to_translate,
    unfinished,
    without_originals,
)
from hushpoll_server.workspace.drafts.translations import Translations
from hushpoll_server.workspace.forms import RevisionForm, posted_revision
from hushpoll_server.workspace.languages.forms import (
    LanguageFileForm,
    LanguageForm,
    text_limit,
    texts_form,
)
from hushpoll_server.workspace.languages.summary import language_name, stale_text
from hushpoll_server.workspace.responses import Page, download, json_text

bp = Blueprint("languages", __name__, template_folder="templates")


LARGEST_FILE = 1 << 20
# What fields suggest; every other tag can be typed.
COMMON = (
    "ar", "bg", "bn", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr",
    "he", "hi", "hr", "hu", "id", "it", "ja", "ko", "lt", "lv", "nl", "pl", "pt", "pt-BR",
    "ro", "ru", "sk", "sl", "sr", "sv", "sw", "ta", "th", "tr", "uk", "ur", "vi", "zh",
)  # fmt: skip
_STALE = later("Nothing was changed: this draft was edited in another tab.")


def check_texts(document: Document, translations: Mapping[str, Any]) -> None:
    """Check translations as the survey's reader does, but allow missing texts; SurveyError if something is wrong."""
    filled = {tag: _with_stand_ins(texts, (), iter(range(1 << 20))) for tag, texts in translations.items()}
    read_translations(filled, document, published=False)


def _with_stand_ins(texts: Any, at: Path, numbers: Any) -> Any:
    """Replace every missing text by a different stand-in, because answers may not be equal."""
    if isinstance(texts, str):
        if texts.strip():
            return texts
        return f"[{next(numbers)}]"
    if isinstance(texts, Mapping):
        return {key: _with_stand_ins(value, (*at, key), numbers) for key, value in texts.items()}
    if at == ("help",) and texts == []:
        return [{"label": "-", "url": "tel:112"}]
    if isinstance(texts, list):
        return [_with_stand_ins(text, at, numbers) for text in texts]
    return texts


@bp.route("/drafts/<draft_id>/languages", methods=["GET", "POST"])
@designer
def languages(draft_id: str) -> Page:
    """Show the languages and how complete they are; set the survey's own, add one."""
    draft = open_draft(draft_id)
    if request.method == "GET":
        return _show_list(draft)
    form = LanguageForm()
    try:
        if not form.validate():
            return _show_list(draft, form, status=422)
        storage.save(get_store(), _with_languages(draft, form), form.read_revision())
    except SurveyError as error:
        field = form.language if error.path == ("language",) else form.tag
        field.errors = [sentence(both(error))]
        return _show_list(draft, form, status=422)
    except StaleDraft:
        flash(str(_STALE), "problem")
        return redirect(url_for("workspace.languages.languages", draft_id=draft.id))
    tag = (form.tag.data or "").strip()
    if tag:
        return redirect(url_for("workspace.languages.language", draft_id=draft.id, tag=tag))
    flash(_("Saved."), "done")
    return redirect(url_for("workspace.languages.languages", draft_id=draft.id))


def _with_languages(draft: Draft, form: LanguageForm) -> Draft:
    """Return the draft with the survey's own language, and one more to translate into if the form names one."""
    own_tag, tag = (form.language.data or "").strip(), (form.tag.data or "").strip()
    if not own_tag:
        if draft.translations or tag:
            raise SurveyError(("language",), "is missing", "say which language the survey itself is in")
        return draft.with_details(language="")
    if read_language(own_tag, ("language",)) in draft.translations:
        raise SurveyError(("language",), "is one of the translations", "remove that translation first")
    changed = draft.with_details(language=own_tag)
    if not tag:
        return changed
    if tag in draft.translations:
        raise SurveyError(("translations",), "is there already", "choose it in the list")
    changed = replace(changed, translations=draft.translations.with_language(tag, {}))
    # Its texts are all open; the tag and the number of languages are not.
    check_texts(
        changed.document,
        {name: shaped_translation(changed.document, lambda _: "") for name in changed.translations},
    )
    return changed


def _show_list(
    draft: Draft,
    form: LanguageForm | None = None,
    file_form: LanguageFileForm | None = None,
    status: int = 200,
) -> Page:
    document = draft.document
    own_tag = draft.details.get("language", "")
    language_form = form or LanguageForm(formdata=None, revision=draft.revision, language=own_tag)
    open_ones = unfinished(document)
    rows = []
    for tag in draft.translations:
        have, of = completeness(document, tag)
        rows.append(
            {
                "tag": tag,
                "name": language_name(tag),
                "have": have,
                "of": of,
                "done": tag not in open_ones,
                "old": stale_text(draft, tag),
            }
        )
    page = render_template(
        "languages/languages.html",
        draft=draft,
        form=language_form,
        file_form=file_form or LanguageFileForm(formdata=None),
        own=language_name(own_tag) if own_tag else "",
        rows=rows,
        common=sorted(((tag, language_name(tag)) for tag in COMMON), key=lambda pair: pair[1]),
        step="questions",
    )
    return page, status


@bp.post("/drafts/<draft_id>/languages/upload")
@designer
def upload_languages(draft_id: str) -> Page:
    """Import languages from a file; a file with missing or unknown texts is refused as a whole."""
    draft, form = open_draft(draft_id), LanguageFileForm()
    if not form.validate_on_submit():
        return _show_list(draft, file_form=form, status=422)
    try:
        with form.file.data.stream as file:
            translations = without_originals(strict_json.loads(file.read(LARGEST_FILE + 1)))
        changed = _with_file(draft, translations)
        storage.save(get_store(), changed, posted_revision())
    except StaleDraft:
        flash(str(_STALE), "problem")
        return redirect(url_for("workspace.languages.languages", draft_id=draft.id))
    except HushpollError as error:
        message = _("This file was refused and nothing was saved: %(problem)s.", problem=translate(error))
        form.file.errors = [message]
        return _show_list(draft, file_form=form, status=422)
    flash(_("Imported from the file: %(list)s.", list=", ".join(translations)), "done")
    return redirect(url_for("workspace.languages.languages", draft_id=draft.id))


def _with_file(draft: Draft, translations: Any) -> Draft:
    document = draft.document
    if not isinstance(translations, dict) or not translations:
        raise SurveyError(
            ("translations",), "must be an object", 'write {"fr": {...}}, one entry for each language'
        )
    all_of_them = {**draft.translations, **translations}
    filled = {tag: translations.get(tag, shaped_translation(document, lambda _: "")) for tag in all_of_them}
    check_texts(document, filled)
    changed = replace(draft, translations=Translations(all_of_them))
    for tag in translations:
        fitting = stale_translations.updated(document, changed.document, changed.fitting, tag)
        changed = replace(changed, fitting=fitting)
    return changed


def _texts_of(draft: Draft, tag: str) -> Document:
    if tag not in draft.translations:
        abort(404, "this language is no longer in the draft; see its list of languages")
    return draft.translations[tag]


@bp.route("/drafts/<draft_id>/languages/<tag>", methods=["GET", "POST"])
@designer
def language(draft_id: str, tag: str) -> Page:
    """Show every text of a language next to its original; texts may stay open."""
    draft = open_draft(draft_id)
    if request.method == "GET":
        return _show_table(draft, tag, texts_form(draft, _texts_of(draft, tag), None))
    form = texts_form(draft, _texts_of(draft, tag), request.form)
    if "autosave" in request.form:
        return _autosave(draft, tag, form)
    try:
        if not form.validate():
            return _show_table(draft, tag, form, 422)
        storage.save(get_store(), _with_typed(draft, tag, form), form.read_revision(), form.read_opened())
    except SurveyError as error:
        _place(draft.document, form, error)
        return _show_table(draft, tag, form, 422)
    except StaleDraft:
        form.revision.data = draft.revision
        return _show_table(draft, tag, form, 409, stale=True)
    flash(_("Saved."), "done")
    return redirect(url_for("workspace.languages.languages", draft_id=draft.id))


def _autosave(draft: Draft, tag: str, form: RevisionForm) -> Response:
    """Save the form if it is valid."""
    if form.validate():
        try:
            return jsonify(autosave(_with_typed(draft, tag, form), form))
        except SurveyError as error:
            _place(draft.document, form, error)
    return jsonify({"errors": field_errors(form)})


def _with_typed(draft: Draft, tag: str, form: RevisionForm) -> Draft:
    indices = {at: index for index, (at, _) in enumerate(texts_to_translate(draft.document))}

    def typed(at: Path) -> str:
        return str(form[f"t_{indices[at]}"].data or "").replace("\r\n", "\n").strip()

    texts = shaped_translation(draft.document, typed)
    check_texts(draft.document, {tag: texts})
    changed = replace(draft, translations=draft.translations.with_language(tag, texts))
    right = {at for at, index in indices.items() if str(index) in request.form.getlist("right")}
    fitting = stale_translations.updated(draft.document, changed.document, draft.fitting, tag, right)
    return replace(changed, fitting=fitting)


def _place(document: Document, form: RevisionForm, error: SurveyError) -> None:
    """Show a mistake next to the text it is about."""
    at = error.path[2:]
    listed = texts_to_translate(document)
    index = next((n for n, (path, _) in enumerate(listed) if at[: len(path)] == path), 0)
    line = ""
    if at[:1] == ("help",) and len(at) > 1:
        line = _("line %(n)s", n=int(at[1]) + 1)
    form[f"t_{index}"].errors = [sentence(f"{line}: {both(error)}" if line else both(error))]


def _show_table(draft: Draft, tag: str, form: RevisionForm, status: int = 200, stale: bool = False) -> Page:
    have, of = completeness(draft.document, tag)
    old = stale_translations.outdated(draft.document, draft.fitting, tag)
    rows = [
        {
            "field": form[f"t_{index}"],
            "original": text,
            "limit": text_limit(at),
            "old": at in old,
            "place": index,
        }
        for index, (at, text) in enumerate(texts_to_translate(draft.document))
    ]
    page = render_template(
        "languages/language.html",
        draft=draft,
        form=form,
        tag=tag,
        name=language_name(tag),
        rows=rows,
        have=have,
        of=of,
        stale=stale,
        step="questions",
    )
    return page, status


@bp.get("/drafts/<draft_id>/languages/<tag>/texts.json")
@designer
def language_file(draft_id: str, tag: str) -> Response:
    """Send a language as a file, with every text next to its original; open texts are empty."""
    draft = open_draft(draft_id)
    _texts_of(draft, tag)
    shaped = next_to_originals(draft.document, tag)
    return download(json_text({tag: shaped}), "application/json", f"{draft.id}-{tag}.json")


@bp.post("/drafts/<draft_id>/languages/<tag>/remove")
@designer
def remove_language(draft_id: str, tag: str) -> Response:
    """Remove a language from the draft."""
    draft = open_draft(draft_id)
    _texts_of(draft, tag)
    try:
        changed = replace(draft, translations=draft.translations.without_language(tag))
        storage.save(get_store(), changed, posted_revision())
        flash(_("“%(language)s” is removed. “Undo” brings it back.", language=tag), "done")
    except StaleDraft:
        flash(str(_STALE), "problem")
    return redirect(url_for("workspace.languages.languages", draft_id=draft.id))
