"""Any table of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel import Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, exp_below, log_below, spell
from hushpoll_client.formatting import epsilon_text
from hushpoll_client.messages import msg

from .base import BrokenPromise, Mechanism, positive_epsilon
from .parameters import EPSILON, Parameter

__all__ = ["Matrix", "check_bound", "matrix"]


class Matrix(Mechanism):
    """A table made elsewhere: its integers are checked against the epsilon it states, nothing more."""

    name = "matrix"
    label = msg("A table of your own")
    help = msg("The device draws from a table that you give, one row of probabilities for each answer.")
    design = msg("a custom randomization table (its rows give the chance of each report for each answer)")
    formula = msg("ĥ = B f with C B′ = I")
    symbols = msg("f: reported frequencies; C: randomization table, row = true answer")
    citation = (
        "Chaudhuri, A., Mukerjee, R. (1988). Randomized Response: Theory and Techniques. Marcel Dekker."
    )
    declared_parameters: ClassVar[tuple[Parameter, ...]] = (EPSILON,)
    recompiled = False
    needs_channel = True

    @classmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Refuse to guess: the table itself has to come along."""
        raise MechanismError(
            "matrix is published with its table", 'add "channel" to the question, in a published form', "name"
        )

    @classmethod
    def check(cls, options: int, parameters: Mapping[str, Any], channel: Channel) -> Mechanism:
        """Take the integers as they are, unless they break the epsilon that the document states."""
        epsilon = check_bound(options, parameters, channel)
        return cls({"epsilon": spell(epsilon)}, channel, channel)


def check_bound(options: int, parameters: Mapping[str, Any], channel: Channel) -> Fraction:
    """Hold integers that are not computed anew against the answers they serve and the epsilon that is stated."""
    epsilon = positive_epsilon(parameters["epsilon"])
    if channel.several:
        raise BrokenPromise("takes several answers at once")
    if channel.options != options:
        raise BrokenPromise(
            msg("has {rows} rows for {options} answers", rows=channel.options, options=options)
        )
    ratio = channel.ratio
    if ratio is None or ratio > exp_below(epsilon):
        problem = msg("is unbounded")
        if ratio is not None:
            problem = msg("has epsilon {found}", found=epsilon_text(log_below(ratio), 6))
        raise BrokenPromise(
            msg("{found}, more than the {epsilon} that is stated", found=problem, epsilon=spell(epsilon))
        )
    return epsilon


def matrix(
    rows: Sequence[Sequence[Number]] | None = None, weights: Sequence[Sequence[Number]] | None = None
) -> Mechanism:
    """Any channel, one row for each true answer: `rows` of probabilities, or `weights` to be normalised."""
    if (rows is None) == (weights is None):
        raise MechanismError("matrix takes either rows or weights, one of the two", field="rows")
    channel = Channel.from_probabilities(rows) if rows is not None else Channel.from_weights(weights or ())
    bare = msg("unbounded: some report is impossible for one true answer and possible for another")
    return Matrix(
        {"rows": [list(row) for row in channel.rows]}, channel, channel, "" if channel.ratio else bare
    )
