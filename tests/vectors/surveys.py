"""Drafts whose published bytes and hashes are vectors: every mechanism, and text that serialisers disagree about."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from hushpoll_client import SCALE
from hushpoll_client.exact import exp_below

Json = dict[str, Any]


def yes_no(name: str, mechanism: Json, text: str = "Did you?") -> Json:
    """A yes/no question."""
    return {"id": name, "kind": "yes_no", "text": text, "mechanism": mechanism}


def choice(name: str, options: list[str], mechanism: Json, text: str = "Which one?") -> Json:
    """A question with one choice out of several options."""
    return {"id": name, "kind": "choice", "text": text, "options": options, "mechanism": mechanism}


def survey(*questions: Json, title: str = "A survey", **more: Any) -> Json:
    """A draft."""
    return {"hushpoll": 1, "title": title, **more, "questions": list(questions)}


def two_valued(options: int, outcomes: int, epsilon: str) -> Json:
    """A channel of two-valued columns with any sets: equal shares of the columns, their ratio just within epsilon."""
    bound = exp_below(Fraction(epsilon))
    low = int(SCALE / outcomes / (1 + bound))
    high = int(low * bound)
    masks = [(0x9E3779B97F4A7C15 * (j + 1) >> 3) % (1 << options) for j in range(outcomes - 1)]
    # The last report has what remains: mixing all columns toward their mean keeps its ratio within the bound too.
    channel = {"form": "columns", "options": options, "sets": [], "low": [], "high": []}
    for mask in masks:
        channel["sets"].append(f"{mask:0{-(-options // 4)}x}")
        channel["low"].append(low)
        channel["high"].append(low + (high - low) // outcomes)
    return channel


ASSURED = [
    *((epsilon,) for epsilon in ("0.1", "1", "1.2", "2", "2.4", "5", "10", "19.9")),
    *(("1",) * times for times in (4, 5, 6, 10, 11)),
    ("1", "2.4", "0.5", "2.4"),
]
"""Epsilons whose tiers of assurance are vectors: of one question, of many that add up, of a weak one among others."""


def yes_no_at(*epsilons: str) -> Json:
    """Yes/no questions, one for each epsilon."""
    return survey(*(yes_no(f"q{n}", {"name": "warner", "epsilon": e}) for n, e in enumerate(epsilons, 1)))


def drafts() -> Iterator[tuple[str, Json]]:
    """Return name and draft."""
    warner = {"name": "warner", "epsilon": 1.0}
    yield "smallest", survey(yes_no("q", warner))
    yield (
        "every mechanism",
        survey(
            *[
                yes_no("warner", warner),
                yes_no("warner_truth", {"name": "warner", "truth": "3/4"}),
                yes_no("warner_third", {"name": "warner", "truth": "1/3"}),
                choice("krr", ["Time", "Fear", "Habit", "None"], {"name": "krr", "epsilon": "0.75"}),
                yes_no("krr_two", {"name": "krr", "epsilon": 2}),
                yes_no("forced", {"name": "forced", "forced": ["1/6", "1/6"]}),
                yes_no("forced_yes", {"name": "forced", "forced": [0, 0.25]}),
                choice("forced_three", ["a", "b", "c"], {"name": "forced", "forced": [0.1, "1/7", 0.2]}),
                yes_no("or_poll", {"name": "or_poll", "decoy": "Brittany?", "decoy_counts": [412, 1000]}),
                yes_no(
                    "or_flip", {"name": "or_poll", "decoy": "Brittany?", "decoy_share": 0.412, "epsilon": 1.5}
                ),
                yes_no("cross", {"name": "crosswise", "decoy": "Born in May?", "decoy_share": "1/12"}),
                yes_no(
                    "cross_flip",
                    {"name": "crosswise", "decoy": "Born in May?", "decoy_counts": [1, 12], "epsilon": 1},
                ),
                yes_no(
                    "other",
                    {"name": "unrelated", "truth": 0.7, "decoy": "Born in May?", "decoy_share": "1/12"},
                ),
                yes_no(
                    "other_flip",
                    {
                        "name": "unrelated",
                        "truth": "2/3",
                        "decoy": "In May?",
                        "decoy_counts": [31, 365],
                        "epsilon": "2.5",
                    },
                ),
            ],
            title="Every mechanism",
            intro="One question for each.",
        ),
    )
    yield (
        "recommended mechanisms",
        survey(yes_no("a", {"epsilon": 1}), choice("b", ["x", "y", "z"], {"epsilon": 0.5})),
    )
    yield "newlines in the introduction", survey(yes_no("q", warner), intro="First line.\n\nThird line.\n")
    yield (
        "characters that are escaped",
        survey(
            yes_no("q", warner, text='Quote " backslash \\ slash / and </script> & \u2028 \u2029 \ufeff end'),
            title='"\\/',
            intro='\\n is not a newline, "\n" is',
        ),
    )
    yield (
        "other scripts and planes",
        survey(
            choice(
                "q",
                ["نعم", "לא", "是", "ไม่", "\U0001f44d\U0001f3fd", "\U0001d4d0", "e\u200dmoji"],
                {"name": "krr", "epsilon": 1},
                text="هل غششت؟",
            ),
            title="Прозрачность",
            intro="日本語\n한국어",
        ),
    )
    yield (
        "decomposed text is composed at publish",
        survey(
            yes_no(
                "q",
                {"name": "or_poll", "decoy": "Cafe\u0301?", "decoy_share": 0.5},
                text="A\u030angstro\u0308m",
            ),
            choice("c", ["e\u0301", "e", "\u2126"], {"name": "krr", "epsilon": 1}),
            title="Re\u0301sume\u0301",
        ),
    )
    yield "settings", survey(yes_no("q", warner), settings={"kiosk": True, "invitation": True})
    yield "one setting", survey(yes_no("q", warner), settings={"invitation": True})
    yield (
        "numbers are spelled one way",
        survey(
            *[
                yes_no("a", {"name": "warner", "epsilon": "1.50"}),
                yes_no("b", {"name": "warner", "epsilon": 1e-2}),
                yes_no("c", {"name": "warner", "truth": "0.250"}),
                yes_no("d", {"name": "warner", "truth": "6/9"}),
                yes_no("e", {"name": "forced", "forced": ["2/4", ".125"]}),
                yes_no("f", {"name": "or_poll", "decoy": "d", "decoy_share": "7e-3", "epsilon": 0.1}),
                yes_no("g", {"name": "or_poll", "decoy": "d", "decoy_share": "3/1125899906842624"}),
                yes_no("h", {"name": "or_poll", "decoy": "d", "decoy_share": "1/1099511627776"}),
            ]
        ),
    )
    yield (
        "a thousand options",
        survey(choice("q", [f"Option {number}" for number in range(1000)], {"name": "krr", "epsilon": 4})),
    )
    yield (
        "a hundred questions",
        survey(*(yes_no(f"q{number}", {"name": "warner", "epsilon": "0.2"}) for number in range(100))),
    )
    yield (
        "the longest texts",
        survey(
            yes_no("q" * 64, warner, text="t" * 1000),
            choice("c", ["\U0001f600" * 200, "o"], {"name": "krr", "epsilon": 1}),
            title="\U0001f600" * 200,
            intro="i" * 4000,
        ),
    )
    yield "epsilon at the cap", survey(yes_no("q", {"name": "warner", "epsilon": 20}))
    yield (
        "unbounded beside the cap",
        survey(
            yes_no("q", {"name": "warner", "epsilon": 20}),
            yes_no("p", {"name": "or_poll", "decoy": "d", "decoy_share": "1/2"}),
        ),
    )
    half = 2**52
    yield (
        "integers that are checked, not compiled",
        survey(
            yes_no("square", {"name": "matrix", "epsilon": 1.1})
            | {
                "channel": {
                    "form": "matrix",
                    "rows": [[3 * half // 2, half // 2], [half // 2, 3 * half // 2]],
                }
            },
            yes_no("wide", {"name": "matrix", "epsilon": "1.5"})
            | {
                "channel": {
                    "form": "matrix",
                    "rows": [
                        [half, half // 2, half // 4, half // 4],
                        [half // 4, half // 4, half // 2, half],
                    ],
                }
            },
            choice("narrow", ["a", "b", "c"], {"name": "matrix", "epsilon": 2})
            | {
                "channel": {
                    "form": "matrix",
                    "rows": [[3 * half // 2, half // 2], [half, half], [half // 2, 3 * half // 2]],
                }
            },
            choice("kary", ["a", "b", "c"], {"name": "matrix", "epsilon": 20})
            | {"channel": {"form": "krr", "options": 3, "weight": half // 4}},
            title="Tables",
        ),
    )
    yield (
        "mangat",
        survey(
            yes_no("a", {"name": "mangat", "truth": 0.6}),
            choice("b", ["x", "y"], {"name": "mangat", "truth": "1/3"}),
        ),
    )
    yield "every kind", survey(*every_kind(), title="Every kind")
    yield "skip rules", survey(*skip_rules(), title="Skip rules")
    moon = yes_no("moon", {"name": "warner", "epsilon": 1}, text="Were you born on the moon?")
    yield "an anchor", survey(yes_no("q", warner), moon, anchor={"question": "moon", "share": 0.0})
    check = choice(
        "told", ["never", "once", "often"], {"name": "krr", "epsilon": 2}, text="Please choose “often” here."
    )
    instructed = {"question": "told", "share": 1, "answer": "often"}
    yield "an instructed answer", survey(yes_no("q", warner), check, anchor=instructed)
    wave = {"name": "Exam honesty", "wave": 2, "previous": "0123456789abcdef" * 4}
    yield "a second wave", survey(yes_no("q", warner), series=wave)
    yield "scales from 0", survey(*scales_from_0(), title="Scales from 0")
    yield "ordered mechanisms", survey(*ordered_mechanisms(), title="Ordered mechanisms")
    yield "blocks", blocks_draft()
    yield "groups", groups_draft()
    yield "around the questions", about_draft()
    yield "only a layout", survey(yes_no("q", warner), look={"layout": "page"})
    yield "blocks and groups by invitation", groups_and_blocks()
    yield (
        "block of five",
        survey(*(member(f"q{position}") for position in range(5)))
        | {"blocks": [{"questions": [f"q{position}" for position in range(5)], "ask": 2, "epsilon": 2}]},
    )


def scales_from_0() -> Iterator[Json]:
    """Scales whose first point is 0: numbers alone, with labelled ends, and with a label for every point."""
    scale = {"kind": "scale", "text": "How likely?", "first": 0}
    mechanism = {"name": "krr", "epsilon": 1}
    yield {"id": "plain", **scale, "points": 11, "mechanism": {**mechanism, "target": "mean"}}
    yield {"id": "ends", **scale, "points": 11, "labels": ["Never", "Always"], "mechanism": mechanism}
    yield {"id": "all", **scale, "points": 3, "labels": ["No", "Maybe", "Yes"], "mechanism": mechanism}


def about_draft() -> Json:
    """A survey with everything that may stand around its questions, in three languages."""
    brittany = {"name": "or_poll", "decoy": "Brittany?", "decoy_counts": [412, 1000]}
    questions = (
        yes_no("a", {"name": "warner", "epsilon": 1}),
        choice("b", ["x", "Prefer not to say"], {"name": "krr", "epsilon": 1}),
        {
            "id": "c",
            "kind": "scale",
            "text": "How often?",
            "points": 5,
            "labels": ["Never", "Always"],
            "mechanism": {"name": "krr", "epsilon": 1, "target": "shares"},
        },
        yes_no("d", brittany),
    )
    about = {
        "language": "en",
        "asked_by": {
            "name": "University of Somewhere",
            "contact": "Ms Nobody, nobody@example.org",
            "approval": "Ethics board, 2026/17",
            "notice": "https://example.org/privacy?survey=1#top",
        },
        "consent": "I am 18 or older and want to take part.",
        "thanks": "Thank you.\nTake care.",
        "help": [
            {"label": "Somebody to talk to", "url": "tel:+498001110111"},
            {"label": "By mail", "url": "mailto:help@example.org"},
            {"label": "On the web", "url": "https://help.example.org:8443/now"},
        ],
        "sections": [
            {"before": "a", "title": "You"},
            {"before": "c", "title": "Often", "text": "A text.\nMore."},
        ],
        "look": {"accent": "#5b2a86", "logo": "0123456789abcdef" * 4, "layout": "steps", "quick_exit": True},
    }
    translations = {tag: translated(tag) for tag in ("fr", "ar")}
    document = survey(*questions, title="Around", intro="Hello.", **about)
    return document | {"translations": translations}


def translated(tag: str) -> Json:
    """A translation of that survey that names its language in every text."""
    return {
        "title": f"Title {tag}",
        "intro": f"Intro {tag}",
        "consent": f"Consent {tag}",
        "thanks": f"Thanks {tag}",
        "help": [{"label": f"Help {tag}", "url": "tel:112"}],
        "sections": [{"title": f"One {tag}"}, {"title": f"Two {tag}", "text": f"Text {tag}"}],
        "questions": {
            "a": {"text": f"A {tag}"},
            "b": {"text": f"B {tag}", "options": [f"x {tag}", f"y {tag}"]},
            "c": {"text": f"C {tag}", "labels": [f"low {tag}", f"high {tag}"]},
            "d": {"text": f"D {tag}", "decoy": f"Decoy {tag}"},
        },
    }


def ordered_mechanisms() -> Iterator[Json]:
    """Mechanisms that know which answers lie close together, on scales and on numbers."""
    scale = {"kind": "scale", "text": "How often?", "points": 5}
    number = {"kind": "number", "text": "How many?", "min": 0, "max": 80, "step": 1}
    for name in ("geometric", "exponential", "one_bit", "square_wave"):
        yield {"id": f"{name}_scale", **scale, "mechanism": {"name": name, "epsilon": 1, "target": "mean"}}
        yield {
            "id": f"{name}_number",
            **number,
            "mechanism": {"name": name, "epsilon": "0.5", "target": "mean"},
        }


def every_kind() -> Iterator[Json]:
    """Scales, numbers, ticked options and long lists."""
    long = [f"Option {number}" for number in range(1000)]
    yield choice("town", long, {"name": "subset", "epsilon": 1, "size": 269})
    yield choice("three", ["a", "b", "c"], {"name": "subset", "epsilon": "0.5", "size": 2})
    ticks = {"kind": "multiple", "text": "Which?", "options": [*"abcdefgh"]}
    yield {"id": "used", **ticks, "mechanism": {"name": "sampled", "epsilon": 2, "ask": 2}}
    yield {"id": "best", **ticks, "mechanism": {"epsilon": 1}}
    yield {"id": "few", **ticks, "at_most": 3, "mechanism": {"name": "padded", "epsilon": 1}}
    yield {"id": "few_best", **ticks, "at_most": 2, "mechanism": {"epsilon": "0.75"}}
    yield {
        "id": "one_of_two",
        **ticks,
        "options": ["x", "y"],
        "mechanism": {"name": "sampled", "epsilon": 1, "ask": 1},
    }
    scale = {"kind": "scale", "text": "How often?", "points": 5}
    yield {"id": "plain", **scale, "mechanism": {"name": "krr", "epsilon": 1}}
    yield {
        "id": "ends",
        **scale,
        "labels": ["Never", "Always"],
        "mechanism": {"epsilon": 1, "target": "shares"},
    }
    yield {
        "id": "all",
        **scale,
        "labels": [*"abcde"],
        "mechanism": {"name": "designed", "epsilon": 1, "target": "cumulative"},
        "channel": two_valued(5, 9, "1"),
    }
    number = {"kind": "number", "text": "How many?", "min": 0, "max": 80, "step": 1}
    yield {"id": "mean", **number, "unit": "hours", "mechanism": {"name": "krr", "epsilon": 2}}
    yield {
        "id": "exact",
        **number,
        "min": "-1.5",
        "max": "2.5",
        "step": "0.25",
        "mechanism": {"name": "designed", "epsilon": 2, "target": "mean"},
        "channel": two_valued(17, 15, "2"),
    }
    yield {"id": "fine", **number, "max": 10**6, "mechanism": {"name": "krr", "epsilon": 1, "target": "mean"}}
    yield {"id": "bins", **number, "mechanism": {"name": "krr", "epsilon": 1, "target": "distribution"}}
    yield {
        "id": "few_bins",
        **number,
        "max": 3,
        "mechanism": {"name": "designed", "epsilon": 1, "target": "distribution", "bins": 3},
        "channel": two_valued(3, 4, "1"),
    }


def skip_rules() -> Iterator[Json]:
    """Questions that are shown after certain answers only, one of them behind another."""
    yield yes_no("cheated", {"name": "warner", "epsilon": 1})
    yield yes_no("caught", {"name": "krr", "epsilon": 1}) | {
        "after": {"question": "cheated", "answers": ["Yes"]}
    }
    reasons = {"after": {"question": "cheated", "answers": ["Yes"]}}
    yield choice("why", ["Time", "Fear", "Habit"], {"epsilon": 1}) | reasons
    deeper = {"after": {"question": "why", "answers": ["Fear", "Time"]}}
    yield choice("fear", [f"Fear {number}" for number in range(12)], {"epsilon": 1}) | deeper


def member(name: str) -> Json:
    """Return a yes/no question of a block."""
    return {"id": name, "kind": "yes_no", "text": f"{name}?"}


def blocks_draft() -> Json:
    """Return a draft with two blocks, one of several kinds, and questions around them."""
    warner = {"name": "warner", "epsilon": 1}
    inside = [
        member("a"),
        {"id": "b", "kind": "choice", "text": "Which?", "options": ["x", "y", "z"]},
        {"id": "c", "kind": "scale", "text": "How often?", "points": 5, "labels": ["Never", "Always"]},
        member("d"),
        member("e"),
    ]
    blocks = [
        {"questions": ["a", "b", "c"], "ask": 2, "epsilon": 2.0},
        {"questions": ["d", "e"], "ask": 1, "epsilon": "0.5"},
    ]
    return survey(yes_no("first", warner), *inside, yes_no("last", warner)) | {"blocks": blocks}


def groups_draft() -> Json:
    """Return a draft with two groups; the second name is not composed yet."""
    warner = {"name": "warner", "epsilon": 1}
    return survey(yes_no("cheated", warner), choice("why", ["Time", "Fear", "Habit"], {"epsilon": 1})) | {
        "groups": ["Science", "Beaux-arts e\u0301tudes"]
    }


def groups_and_blocks() -> Json:
    """Return a draft with three groups, blocks, a decoy and invitations."""
    drafted = blocks_draft()
    decoy = {"name": "or_poll", "decoy": "Brittany?", "decoy_counts": [412, 1000]}
    drafted["questions"].append(yes_no("tax", decoy))
    return drafted | {
        "groups": ["North", "South", "\u0627\u0644\u0634\u0631\u0642"],
        "settings": {"invitation": True},
    }
