"""Mechanisms in the editor: the form's fields that each uses follow from the parameters it declares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from flask_babel import lazy_gettext as later
from hushpoll_client import MechanismError, Question
from hushpoll_client.exact import read_number, spell
from hushpoll_client.formatting import epsilon_text
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import MECHANISMS, Parameter
from hushpoll_client.mechanism.parameters import DECOY_COUNTS, DECOY_SHARE

from hushpoll_server.fields import decimal, decimals, either, option, shown
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number
from hushpoll_server.workspace.kinds import EDITORS, Fields, editor_of

RECOMMENDED = (
    later("Recommended"),
    later("The most precise one for this question at the privacy level you set for the whole survey."),
)
OFFERED = {
    name: mechanism
    for name, mechanism in MECHANISMS.items()
    if mechanism.in_surveys and (mechanism.recompiled or mechanism.fits == "ordered")
}
"""What a designer may choose; a mechanism whose table comes with the document stays where it is imported."""
_DECOY = (DECOY_SHARE.name, DECOY_COUNTS.name)
PARAMETERS = {
    parameter.name: parameter
    for mechanism in OFFERED.values()
    for parameter in mechanism.declared_parameters
    if parameter.name not in _DECOY
}
"""The parameters that have one field each; the decoy's share may come from elsewhere and has several."""
_DECOY_FIELDS = ("decoy", "decoy_from", "decoy_yes", "decoy_of", "decoy_survey")
_COIN = later(
    "A coin on the device guarantees the epsilon even against someone who knows the harmless answer."
)


def fields_of(name: str) -> set[str]:
    """Return the fields of the form that a mechanism uses; the recommended one, "", uses none."""
    mechanism = MECHANISMS.get(name)
    if mechanism is None or name not in OFFERED:
        return set()
    fields = {parameter.name for parameter in mechanism.declared_parameters}
    if "epsilon" in fields:
        fields.add("linked")
    if mechanism.has_decoy:
        return fields.union(_DECOY_FIELDS)
    return fields


def excluded_by_slider(name: str) -> set[str]:
    """Return the parameters that a mechanism cannot have together with an epsilon from the slider."""
    if name in MECHANISMS:
        pairs = MECHANISMS[name].one_of
    else:
        pairs = ()
    return {key for pair in pairs if "epsilon" in pair for key in pair if key != "epsilon"}


def what_it_reveals(question: Question) -> str:
    """Return what a report reveals of a question without a finite epsilon; "" for other questions."""
    mechanism = question.mechanism
    if math.isfinite(mechanism.epsilon):
        if mechanism.has_decoy:
            return str(_COIN)
        return ""
    given_away = _revealed(question)
    if mechanism.epsilon_conditional is None:
        return f"{given_away} " + _("Its privacy has no finite epsilon.")
    # A conditional figure never stands without its condition.
    bound = _(
        "Its privacy has no finite epsilon; it is %(epsilon)s if no one knows more about the"
        " harmless answer than its share.",
        epsilon=localize_number(epsilon_text(mechanism.epsilon_conditional, 2)),
    )
    return f"{given_away} {bound}"


def _revealed(question: Question) -> str:
    facts = question.mechanism.facts
    if not facts:
        return _("Someone who knows a person's harmless answer can infer true answers from the report.")
    fact = facts[0]
    label, left = question.report_labels[fact.report], [question.options[answer] for answer in fact.leaves]
    values = {"recorded": option(label), "true": either([option(text) for text in left], marks=False)}
    if fact.decoy is not None:
        return _("A recorded %(recorded)s reveals a true %(true)s to both questions.", **values)
    return _("A recorded %(recorded)s reveals a true %(true)s.", **values)


def read_question(question: Mapping[str, Any]) -> Fields:
    """Return the form's fields of a question of a draft."""
    editor, fields = editor_of(question)
    kind = KINDS[question["kind"]]
    own_keys = (*kind.in_mechanism, *kind.draft_keys)
    mechanism_entry = question.get("mechanism", {})
    mechanism = {key: value for key, value in mechanism_entry.items() if key not in own_keys}
    return {"id": question["id"], "text": question["text"], "kind": editor, **fields} | _read_mechanism(
        mechanism
    )


def _read_mechanism(mechanism: Mapping[str, Any]) -> Fields:
    fields: Fields = {"mechanism": mechanism.get("name", "")}
    if not fields["mechanism"]:
        return fields
    for key, value in mechanism.items():
        if key == "decoy_counts":
            yes, of = value
            fields |= {"decoy_from": "counts", "decoy_yes": str(yes), "decoy_of": str(of)}
        elif key != "name":
            fields[key] = shown(value)
    return fields


def write_question(fields: Fields, slider: str, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the question that the form's fields describe; it is not checked.

    `before` is the question before the edit: a channel that came with it is kept while nothing else changes.
    """
    editor = EDITORS[fields["kind"]]
    question = {"id": fields["id"], "text": fields["text"].strip(), **editor.write(fields)}
    name, own_values = fields.get("mechanism") or "", editor.in_mechanism(fields)
    if not name:
        own_values |= editor.draft_keys(fields)
    if before is not None and name and name not in OFFERED:
        return {**question, "mechanism": before["mechanism"] | own_values, "channel": before["channel"]}
    written = {**question, "mechanism": _write_mechanism(name, fields, slider) | own_values}
    # A channel that somebody computed stays as long as nothing that it was computed for changes.
    if before is not None and "channel" in before and _is_same(written, before):
        written["channel"] = before["channel"]
    return written


def _is_same(written: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    words = ("id", "text", "channel", "after")
    first, second = (
        {key: value for key, value in question.items() if key not in words} for question in (written, before)
    )
    return first == second


def _write_mechanism(name: str, fields: Fields, slider: str) -> dict[str, Any]:
    if not name:
        return {"epsilon": slider}
    used = fields_of(name)
    typed = {key: text for key in used if (text := str(fields.get(key) or "").strip())}
    mechanism: dict[str, Any] = {"name": name}
    for parameter in MECHANISMS[name].declared_parameters:
        if parameter.name in typed and parameter.name not in _DECOY:
            mechanism[parameter.name] = _parameter_value(parameter, typed[parameter.name])
    if "linked" in typed:
        mechanism["epsilon"] = slider
        for key in excluded_by_slider(name):
            mechanism.pop(key, None)
    if "decoy" in typed:
        mechanism["decoy"] = typed["decoy"]
    if "decoy_from" in used:
        mechanism |= _write_decoy(fields.get("decoy_from") or "share", typed)
    return mechanism


def _parameter_value(parameter: Parameter, text: str) -> Any:
    read_number = decimals if parameter.shape.listed else decimal
    value = parameter.shape.from_text(read_number(text, (parameter.name,)))
    if parameter.name == "epsilon" or parameter.shape.integer:
        return value
    if isinstance(value, list):
        return [_share(item) for item in value if item]
    return _share(value)


def _share(text: Any) -> Any:
    """Return 25% as 0.25; other text is returned unchanged, and the survey's check refuses it."""
    if not isinstance(text, str) or not text.endswith("%"):
        return text
    try:
        return spell(read_number(text.removesuffix("%").strip(), "share") / 100)
    except MechanismError:
        return text


def _write_decoy(source: str, typed: dict[str, str]) -> dict[str, Any]:
    if source == "share":
        named = DECOY_SHARE.name
        if named in typed:
            return {named: _share(decimal(typed[named], (named,)))}
        return {}
    counts = f"{typed.get('decoy_yes', '')},{typed.get('decoy_of', '')}"
    return {DECOY_COUNTS.name: DECOY_COUNTS.shape.from_text(counts)}
