"""The mechanisms: constructors only, each giving the channel that the device draws from and the one that is inverted.

Every constructor rounds toward privacy: the epsilon of its integers never exceeds the epsilon asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, inf
from typing import Any

from .channel import MAX_TABLE, SCALE, Channel
from .errors import ChannelError, MechanismError
from .exact import Number, exp_below, read_decimal, read_share, spell

__all__ = [
    "MAX_EPSILON",
    "MAX_OPTIONS",
    "Mechanism",
    "crosswise",
    "forced",
    "krr",
    "kuk",
    "mangat",
    "matrix",
    "or_poll",
    "triangular",
    "unrelated",
    "warner",
]

MAX_EPSILON = 20  # no client sends answers above this total, so nothing larger is worth compiling
MAX_OPTIONS = 1000

_DECOY = "holds only if nobody knows more about this person's answer to the decoy question than its share"


@dataclass(frozen=True)
class Mechanism:
    """What a respondent's device does with an answer, and what the analysis undoes.

    Attributes
    ----------
    device : Channel
        What the device draws from; `epsilon` is always this one's.
    analysis : Channel
        From the true answer to the report, with the decoy's share in it where there is a decoy. Otherwise `device`.
    combine : str
        What the device does with an answer and a decoy's answer before it draws: "none" (there is no decoy), "or",
        "same" (1 when both are equal) or "pair" (2 * answer + decoy).
    epsilon_conditional : float or None
        For a decoy: the epsilon against somebody who knows only the decoy's share; None when that is unbounded too.
    """

    name: str
    parameters: dict[str, Any] = field(hash=False)
    device: Channel
    analysis: Channel
    combine: str = "none"
    decoy_share: Fraction | None = None
    decoy_counts: tuple[int, int] | None = None
    epsilon_conditional: float | None = None
    epsilon_note: str = ""

    @property
    def epsilon(self) -> float:
        """The privacy of one answer whatever anybody else knows; infinity when unbounded."""
        return self.device.epsilon

    @property
    def options(self) -> int:
        """The number of true answers."""
        return self.analysis.options

    @property
    def has_decoy(self) -> bool:
        """Whether the device also asks a decoy question."""
        return self.combine != "none"

    def device_answer(self, answer: int, decoy: int | None = None) -> int:
        """Combine a true answer with the decoy's; the result is what the device's channel randomizes."""
        if not self.has_decoy:
            if decoy is not None:
                raise ChannelError(f"{self.name} asks no decoy question")
            return answer
        if answer not in (0, 1) or decoy not in (0, 1):
            raise ChannelError(
                f"{self.name} needs two answers, to the question and to the decoy, each No (0) or Yes (1)"
            )
        combined = {"or": answer | decoy, "same": int(answer == decoy), "pair": 2 * answer + decoy}
        return combined[self.combine]


def warner(epsilon: Number | None = None, truth: Number | None = None) -> Mechanism:
    """Warner's coin flip: report the truth with probability phi, else the opposite (Warner 1965)."""
    if (epsilon is None) == (truth is None):
        raise MechanismError("warner takes either epsilon or truth, one of the two", "epsilon")
    if epsilon is not None:
        channel, parameters = krr_channel(2, epsilon), {"epsilon": spell(read_decimal(epsilon, "epsilon"))}
    else:
        assert truth is not None
        phi = read_share(truth, "truth")
        if phi == Fraction(1, 2):
            raise MechanismError(
                "truth = 1/2 carries no information; choose another probability, such as 3/4", "truth"
            )
        if phi in (0, 1):
            raise MechanismError(
                "truth = 0 or 1 reveals every answer; choose a probability between, such as 3/4", "truth"
            )
        # Toward 1/2 is toward privacy, on either side of it.
        kept = int(phi * SCALE) if phi > Fraction(1, 2) else -int(-phi * SCALE // 1)
        if kept in (0, SCALE) or 2 * kept == SCALE:
            raise MechanismError("truth is too close to 0, 1/2 or 1 to be an integer out of 2^53", "truth")
        channel, parameters = Channel.krr(2, SCALE - kept), {"truth": spell(phi)}
    return Mechanism("warner", parameters, channel, channel)


def krr(options: int, epsilon: Number) -> Mechanism:
    """K-ary randomized response: the truth is e^epsilon times as likely as each other option (Kairouz et al. 2014)."""
    channel = krr_channel(options, epsilon)
    return Mechanism("krr", {"epsilon": spell(read_decimal(epsilon, "epsilon"))}, channel, channel)


def krr_channel(options: int, epsilon: Number) -> Channel:
    """W = ceil(2^53 / (L + K - 1)) with L just below e^epsilon, so that T/W <= L <= e^epsilon exactly."""
    if type(options) is not int or options < 2:
        raise MechanismError(f"a question needs at least two options, got {options}", "options")
    exponent = _epsilon(epsilon)
    weight = -int(-SCALE // (exp_below(exponent) + options - 1))
    truth = SCALE - (options - 1) * weight
    if truth <= weight:
        raise MechanismError(
            f"{options} options at epsilon {spell(exponent)} are too many for integers out of 2^53;"
            " use fewer options or a larger epsilon",
            "options",
        )
    return Channel.krr(options, weight)


def forced(shares: Sequence[Number]) -> Mechanism:
    """Forced response: with probability u_k say option k whatever is true, else the truth (Boruch 1971)."""
    exact = [read_share(share, "forced") for share in shares]
    if len(exact) < 2:
        raise MechanismError("forced needs one share for each option, at least two", "forced")
    if sum(exact) == 0:
        raise MechanismError(
            "forced shares are all zero: every answer would be revealed; raise one", "forced"
        )
    if sum(exact) >= 1:
        raise MechanismError(
            f"forced shares sum to {spell(sum(exact, Fraction(0)))}; they must leave room for the truth",
            "forced",
        )
    weights = [-int(-share * SCALE // 1) for share in exact]
    truth = SCALE - sum(weights)
    if truth < 1:
        raise MechanismError("forced shares leave no room for the truth out of 2^53; lower one", "forced")
    if len(set(weights)) == 1:
        channel = Channel.krr(len(weights), weights[0])
    elif len(weights) > MAX_TABLE:
        raise MechanismError(
            f"more than {MAX_TABLE} options need equal forced shares; make them equal or use krr", "forced"
        )
    else:
        channel = Channel.matrix(
            [[w + truth * (x == z) for z, w in enumerate(weights)] for x in range(len(weights))]
        )
    note = "" if channel.ratio else _forced_note(weights)
    return Mechanism(
        "forced", {"forced": [spell(share) for share in exact]}, channel, channel, epsilon_note=note
    )


def _forced_note(weights: Sequence[int]) -> str:
    if len(weights) == 2:
        bare = "Yes" if weights[0] else "No"
        return f"unbounded: nobody is forced to say {bare}, so a {bare} reveals the {bare}"
    bare = ", ".join(str(number) for number, weight in enumerate(weights, 1) if weight == 0)
    return f"unbounded: nobody is forced to say option {bare}, so that report reveals the answer"


def or_poll(
    decoy_share: Number | None = None,
    decoy_counts: Sequence[int] | None = None,
    epsilon: Number | None = None,
) -> Mechanism:
    """The extra insignificant question: report Yes if either answer is; with epsilon, then flip that bit (warner)."""
    share, counts, parameters = _decoy(decoy_share, decoy_counts)
    device, flip = _flip(epsilon)
    mixed = Channel.from_probabilities([[1 - share, share], [0, 1]]).then(device)
    note = (
        "unconditional; epsilon_conditional " + _DECOY
        if epsilon is not None
        else "unbounded: a No reveals that both answers are No; a Yes multiplies the odds by at most "
        f"{-(-1000 / share // 1) / 1000:g}, which {_DECOY}; add an epsilon to bound it"
    )
    return _with_decoy("or_poll", "or", parameters | flip, device, mixed, share, counts, note)


def triangular(decoy_share: Number | None = None, decoy_counts: Sequence[int] | None = None) -> Mechanism:
    """The triangular model of Yu, Tian and Tang (2008): the OR-poll under another name."""
    poll = or_poll(decoy_share, decoy_counts)
    return _with_decoy(
        "triangular", "or", poll.parameters, poll.device, poll.analysis, *_known(poll), poll.epsilon_note
    )


def crosswise(
    decoy_share: Number | None = None,
    decoy_counts: Sequence[int] | None = None,
    epsilon: Number | None = None,
) -> Mechanism:
    """The crosswise model: report whether the two answers are the same (1) or different (0) (Yu, Tian, Tang 2008)."""
    share, counts, parameters = _decoy(decoy_share, decoy_counts)
    if share == Fraction(1, 2):
        raise MechanismError(
            "a decoy share of 1/2 carries no information; choose another decoy question", "decoy_share"
        )
    device, flip = _flip(epsilon)
    mixed = Channel.from_probabilities([[share, 1 - share], [1 - share, share]]).then(device)
    note = (
        "unconditional; epsilon_conditional "
        if epsilon is not None
        else ("unbounded against somebody who knows the decoy's answer; epsilon_conditional ")
    )
    return _with_decoy("crosswise", "same", parameters | flip, device, mixed, share, counts, note + _DECOY)


def unrelated(
    truth: Number,
    decoy_share: Number | None = None,
    decoy_counts: Sequence[int] | None = None,
    epsilon: Number | None = None,
) -> Mechanism:
    """The unrelated question: with probability theta answer the question, else the decoy (Greenberg et al. 1969)."""
    share, counts, parameters = _decoy(decoy_share, decoy_counts)
    theta = read_share(truth, "truth")
    if theta in (0, 1):
        raise MechanismError(
            "truth must lie between 0 and 1: it is the chance of the sensitive question", "truth"
        )
    device = Channel.from_probabilities([[1, 0], [theta, 1 - theta], [1 - theta, theta], [0, 1]])
    flip, spelled = _flip(epsilon)
    if epsilon is not None:
        device = device.then(flip)
    rows = [[Fraction(weight, SCALE) for weight in row] for row in device.rows]
    mixed = Channel.from_probabilities(
        [[(1 - share) * a + share * b for a, b in zip(rows[x], rows[x + 1], strict=True)] for x in (0, 2)]
    )
    note = (
        "unconditional; epsilon_conditional "
        if epsilon is not None
        else ("unbounded against somebody who knows the decoy's answer; epsilon_conditional ")
    )
    parameters = {"truth": spell(theta)} | parameters | spelled
    return _with_decoy("unrelated", "pair", parameters, device, mixed, share, counts, note + _DECOY)


def mangat(truth: Number) -> Mechanism:
    """Mangat (1994): who has the trait says Yes; who has not says No with probability `truth`, else Yes."""
    kept = read_share(truth, "truth")
    if kept in (0, 1):
        raise MechanismError(
            "truth must lie between 0 and 1: at 0 nothing is learnt, at 1 nothing is hidden", "truth"
        )
    channel = Channel.from_probabilities([[kept, 1 - kept], [0, 1]])
    note = "unbounded: a No reveals the No"
    return Mechanism("mangat", {"truth": spell(kept)}, channel, channel, epsilon_note=note)


def kuk(red_if_yes: Number, red_if_no: Number, draws: int = 1) -> Mechanism:
    """Kuk (1990): report how many of `draws` cards are red, from a deck that depends on the true answer."""
    yes, no = read_share(red_if_yes, "red_if_yes"), read_share(red_if_no, "red_if_no")
    if yes == no:
        raise MechanismError(
            "the two decks have the same share of red cards, so nothing is learnt; change one", "red_if_yes"
        )
    if type(draws) is not int or not 1 <= draws <= MAX_TABLE - 1:
        raise MechanismError(f"draws must be from 1 to {MAX_TABLE - 1}, got {draws}", "draws")
    channel = Channel.from_probabilities(
        [
            [comb(draws, red) * p**red * (1 - p) ** (draws - red) for red in range(draws + 1)]
            for p in (no, yes)
        ]
    )
    note = (
        ""
        if channel.ratio
        else "unbounded: one deck has cards of one colour only, so some counts reveal the answer"
    )
    parameters = {"red_if_yes": spell(yes), "red_if_no": spell(no), "draws": draws}
    return Mechanism("kuk", parameters, channel, channel, epsilon_note=note)


def matrix(rows: Sequence[Sequence[Number]]) -> Mechanism:
    """Any channel, given as probabilities or weights, one row for each true answer."""
    channel = Channel.from_probabilities(rows)
    note = (
        ""
        if channel.ratio
        else "unbounded: some report is impossible for one true answer and possible for another"
    )
    return Mechanism(
        "matrix", {"rows": [list(row) for row in channel.rows]}, channel, channel, epsilon_note=note
    )


def _epsilon(value: Number) -> Fraction:
    epsilon = read_decimal(value, "epsilon")
    if epsilon <= 0:
        raise MechanismError(f"epsilon must be greater than 0, got {spell(epsilon)}; try 1.0", "epsilon")
    if epsilon > MAX_EPSILON:
        raise MechanismError(
            f"epsilon must be at most {MAX_EPSILON}, got {spell(epsilon)}; clients refuse more", "epsilon"
        )
    return epsilon


def _decoy(
    share: Number | None, counts: Sequence[int] | None
) -> tuple[Fraction, tuple[int, int] | None, dict[str, Any]]:
    if (share is None) == (counts is None):
        raise MechanismError(
            "give either decoy_share or decoy_counts [yes, of], one of the two", "decoy_share"
        )
    if counts is not None:
        if len(counts) != 2 or any(type(count) is not int for count in counts):
            raise MechanismError("decoy_counts must be two whole numbers, [yes, of]", "decoy_counts")
        yes, of = counts
        if not 0 < yes < of or of >= SCALE:
            raise MechanismError(f"decoy_counts need 0 < yes < of, got [{yes}, {of}]", "decoy_counts")
        return Fraction(yes, of), (yes, of), {"decoy_counts": [yes, of]}
    assert share is not None
    exact = read_share(share, "decoy_share")
    if exact in (0, 1):
        raise MechanismError(
            "decoy_share must lie between 0 and 1: otherwise nothing is hidden or nothing learnt",
            "decoy_share",
        )
    return exact, None, {"decoy_share": spell(exact)}


def _flip(epsilon: Number | None) -> tuple[Channel, dict[str, Any]]:
    if epsilon is None:
        return Channel.identity(2), {}
    return krr_channel(2, epsilon), {"epsilon": spell(read_decimal(epsilon, "epsilon"))}


def _with_decoy(
    name: str,
    combine: str,
    parameters: dict[str, Any],
    device: Channel,
    mixed: Channel,
    share: Fraction,
    counts: tuple[int, int] | None,
    note: str,
) -> Mechanism:
    conditional = mixed.epsilon
    return Mechanism(
        name,
        parameters,
        device,
        mixed,
        combine,
        share,
        counts,
        epsilon_conditional=None if conditional == inf else conditional,
        epsilon_note=note,
    )


def _known(mechanism: Mechanism) -> tuple[Fraction, tuple[int, int] | None]:
    assert mechanism.decoy_share is not None
    return mechanism.decoy_share, mechanism.decoy_counts
