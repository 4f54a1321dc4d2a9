"""Kinds of question and mechanisms as the editor offers them.

A new kind of question is one entry in KINDS with two functions: from the form's fields to the document, and back. A
new mechanism is one entry in MECHANISMS that names the fields it uses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hushpoll_client import Mechanism, MechanismError
from hushpoll_client.exact import read_number, spell

PREFER_NOT = "Prefer not to say"

Fields = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One kind of question in the editor."""

    label: str
    help: str
    # From the form's fields to {"kind": ..., "options": ...}, and back where the document is of this kind.
    write: Callable[[Fields], dict[str, Any]]
    read: Callable[[Mapping[str, Any]], Fields | None]


def _write_yes_no(fields: Fields) -> dict[str, Any]:
    # A third answer makes it a choice: "Prefer not to say" is an ordinary option inside the randomized set.
    if fields.get("prefer_not"):
        return {"kind": "choice", "options": ["No", "Yes", PREFER_NOT]}
    return {"kind": "yes_no"}


def _read_yes_no(question: Mapping[str, Any]) -> Fields | None:
    if question["kind"] == "yes_no":
        return {"prefer_not": False}
    if question["kind"] == "choice" and question["options"] == ["No", "Yes", PREFER_NOT]:
        return {"prefer_not": True}
    return None


def _write_choice(fields: Fields) -> dict[str, Any]:
    options = [line.strip() for line in (fields.get("options") or "").splitlines() if line.strip()]
    if fields.get("prefer_not") and PREFER_NOT not in options:
        options.append(PREFER_NOT)
    return {"kind": "choice", "options": options}


def _read_choice(question: Mapping[str, Any]) -> Fields | None:
    if question["kind"] != "choice":
        return None
    options = list(question["options"])
    last = options[-1] == PREFER_NOT
    return {"options": "\n".join(options[:-1] if last else options), "prefer_not": last}


KINDS: dict[str, Kind] = {
    "yes_no": Kind("Yes or no", "Two answers. The most precise kind.", _write_yes_no, _read_yes_no),
    "choice": Kind(
        "One choice out of several", "Two or more options, one of them chosen.", _write_choice, _read_choice
    ),
}


@dataclass(frozen=True)
class MechanismChoice:
    """One mechanism in the editor: what it does, and which of the form's fields it uses."""

    label: str
    help: str
    fields: tuple[str, ...]
    kinds: tuple[str, ...]


_DECOY = ("decoy", "decoy_from", "decoy_share", "decoy_yes", "decoy_of", "decoy_survey", "linked", "epsilon")

MECHANISMS: dict[str, MechanismChoice] = {
    "": MechanismChoice(
        "Recommended",
        "The most precise one for this question at the privacy level you set for the whole survey.",
        (),
        ("yes_no", "choice"),
    ),
    "warner": MechanismChoice(
        "Warner's randomized response",
        "The device reports the true answer with a known probability, else the opposite.",
        ("linked", "epsilon", "truth"),
        ("yes_no",),
    ),
    "krr": MechanismChoice(
        "K-ary randomized response",
        "The device reports the chosen option with a known probability, else one of the others, all alike.",
        ("linked", "epsilon"),
        ("yes_no", "choice"),
    ),
    "forced": MechanismChoice(
        "Forced response",
        "With known shares the device reports a fixed option whatever the truth. A share of 0 for an option makes a"
        " report of it a proof: its privacy is then unbounded.",
        ("forced",),
        ("yes_no", "choice"),
    ),
    "or_poll": MechanismChoice(
        "OR-poll: an extra, harmless question",
        "The device reports Yes if either answer is Yes. A No reveals two true Noes, so its epsilon is unbounded"
        " unless you also give an epsilon: then a coin on the device flips the result and the privacy is finite.",
        _DECOY,
        ("yes_no",),
    ),
    "unrelated": MechanismChoice(
        "Unrelated question",
        "Chance on the device decides whether the sensitive or the harmless question is answered.",
        ("truth", *_DECOY),
        ("yes_no",),
    ),
    "crosswise": MechanismChoice(
        "Crosswise: same or different",
        "The device reports only whether the two answers are the same. Private only from people who do not know the"
        " harmless answer, unless you also give an epsilon.",
        _DECOY,
        ("yes_no",),
    ),
}
_COIN = "A coin on the device keeps the epsilon, whatever anybody knows about the harmless answer."
_REVEALS = {
    "or_poll": "A recorded No reveals a true No to both questions.",
    "unrelated": "Somebody who knows a person's harmless answer can tell some true answers from the report.",
    "crosswise": "Somebody who knows a person's harmless answer can tell the true answer from the report.",
    "forced": "A report that is never forced is a proof of that answer.",
}
MECHANISM_NAMES = {name: choice.label for name, choice in MECHANISMS.items() if name}


def mechanisms_for(kind: str) -> list[str]:
    """Names of the mechanisms that the editor offers for a kind of question; "" is the recommended one."""
    return [name for name, choice in MECHANISMS.items() if kind in choice.kinds]


def what_it_reveals(mechanism: Mechanism) -> str:
    """One sentence on mechanisms that are not simply epsilon-private; empty for the others."""
    if not math.isfinite(mechanism.epsilon):
        said = f"{_REVEALS.get(mechanism.name, 'A report can reveal an answer.')} Its privacy has no finite epsilon"
        if mechanism.epsilon_conditional is None:
            return f"{said}."
        # A conditional figure never stands without its condition.
        conditional = f"{mechanism.epsilon_conditional:.3g}"
        return f"{said}; it is {conditional} on condition that nobody knows more of the harmless answer than its share."
    return _COIN if mechanism.has_decoy else ""


def read_question(question: Mapping[str, Any]) -> Fields:
    """The form's fields of a question of a draft."""
    fields: Fields = {"id": question["id"], "text": question["text"]}
    for name, kind in KINDS.items():
        found = kind.read(question)
        if found is not None:
            fields |= {"kind": name, **found}
            break
    return fields | _read_mechanism(question["mechanism"])


def _read_mechanism(mechanism: Mapping[str, Any]) -> Fields:
    if "name" not in mechanism:
        return {"mechanism": ""}
    fields: Fields = {"mechanism": mechanism["name"]}
    fields |= {
        key: str(mechanism[key]) for key in ("epsilon", "truth", "decoy_share", "decoy") if key in mechanism
    }
    if "forced" in mechanism:
        fields["forced"] = ", ".join(str(share) for share in mechanism["forced"])
    if "decoy_counts" in mechanism:
        yes, of = mechanism["decoy_counts"]
        fields |= {"decoy_from": "counts", "decoy_yes": str(yes), "decoy_of": str(of)}
    return fields


def write_question(fields: Fields, slider: str) -> dict[str, Any]:
    """The question of a draft that the form's fields describe; whether it is sound is for the survey to say."""
    question = {"id": fields["id"], "text": fields["text"].strip(), **KINDS[fields["kind"]].write(fields)}
    return {**question, "mechanism": _write_mechanism(fields, slider)}


def _write_mechanism(fields: Fields, slider: str) -> dict[str, Any]:
    name = fields.get("mechanism") or ""
    if not name:
        return {"epsilon": slider}
    used = MECHANISMS[name].fields
    given = {key: text for key in used if (text := str(fields.get(key) or "").strip())}
    mechanism: dict[str, Any] = {"name": name}
    mechanism |= {key: given[key] for key in ("epsilon", "truth", "decoy") if key in given}
    if "linked" in given:
        # Warner takes an epsilon or a probability, not both.
        mechanism["epsilon"] = slider
        if name == "warner":
            mechanism.pop("truth", None)
    if "truth" in mechanism:
        mechanism["truth"] = _share(mechanism["truth"])
    if "forced" in given:
        parts = given["forced"].replace(";", ",").split(",")
        mechanism["forced"] = [_share(part.strip()) for part in parts if part.strip()]
    if "decoy_from" in used:
        mechanism |= _write_decoy(fields.get("decoy_from") or "share", given)
    return mechanism


def _share(text: str) -> str:
    """Read 25% as the 0.25 that it means; what is no number stays as it was typed and is refused beside its field."""
    if not text.endswith("%"):
        return text
    try:
        return spell(read_number(text.removesuffix("%").strip(), "share") / 100)
    except MechanismError:
        return text


def _write_decoy(source: str, given: dict[str, str]) -> dict[str, Any]:
    if source == "share":
        return {"decoy_share": _share(given["decoy_share"])} if "decoy_share" in given else {}
    counts = [given.get("decoy_yes", ""), given.get("decoy_of", "")]
    # Python reads no number of thousands of digits; what stays text is refused with the field's name.
    return {
        "decoy_counts": [
            int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text for text in counts
        ]
    }
