"""Coins and dice that stand for a mechanism on paper, where they can make its odds exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Branch", "Instruction", "coins_or_dice", "dice"]

_MOST_ROLLS = 3  # more rolls of a die than this, and people lose count
_COINS = {Fraction(1, 4): (2, 2), Fraction(1, 8): (3, 3), Fraction(3, 8): (3, 1), Fraction(1, 16): (4, 4)}


@dataclass(frozen=True)
class Branch:
    """What to do when the die gives a number from `low` to `high`.

    `what` is "truth", "opposite", "forced" (say `option`), "first" or "second" (of two questions).
    """

    low: str
    high: str
    what: str
    option: int | None = None


@dataclass(frozen=True)
class Instruction:
    """How to answer one question on paper.

    Attributes
    ----------
    coins, heads : int
        Coins to toss; the first branch is for exactly `heads` heads. 0 coins means a die, or nothing at all.
    rolls : int
        Roll a die so often; the digits side by side are the number. Numbers above `last` are rolled again.
    """

    branches: tuple[Branch, ...] = ()
    coins: int = 0
    heads: int = 0
    rolls: int = 0
    last: str = ""
    again: bool = False


def coins_or_dice(share: Fraction, rare: str, often: str) -> Instruction | None:
    """Let coins decide between two branches where they give the share exactly, else dice."""
    if share in _COINS:
        coins, heads = _COINS[share]
        return Instruction((Branch("", "", rare), Branch("", "", often)), coins=coins, heads=heads)
    return dice([(share, rare, None)], often)


def dice(branches: Sequence[tuple[Fraction, str, int | None]], otherwise: str) -> Instruction | None:
    """Deal the outcomes of one to three rolls out to the branches; what is left over is rolled again."""
    denominator = math.lcm(*(share.denominator for share, _what, _option in branches))
    # An exact fit first, then the fewest rolls.
    rolls = min(
        (rolls for rolls in range(1, _MOST_ROLLS + 1) if 6**rolls >= denominator),
        key=lambda rolls: (6**rolls % denominator != 0, rolls),
        default=0,
    )
    if rolls == 0:
        return None
    used = 6**rolls // denominator * denominator
    dealt, start = [], 0
    for share, what, option in branches:
        end = start + int(share * used)
        dealt.append(Branch(_face(start, rolls), _face(end - 1, rolls), what, option))
        start = end
    dealt.append(Branch(_face(start, rolls), _face(used - 1, rolls), otherwise))
    return Instruction(tuple(dealt), rolls=rolls, last=_face(used - 1, rolls), again=used < 6**rolls)


def _face(outcome: int, rolls: int) -> str:
    """Write the outcome 0..6^rolls-1 as the faces that a die shows, 1 to 6 each."""
    return "".join(str(outcome // 6**position % 6 + 1) for position in reversed(range(rolls)))
