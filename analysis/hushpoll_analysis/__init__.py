"""From report counts to estimates with intervals.

Names are loaded when first used, so that importing the package stays cheap. No module carries the name of a public
function: `from hushpoll_analysis import estimate` is the function, whatever was imported before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .channel.simulation import simulate as simulate
    from .channel.unknown import asks_unknown_decoy as asks_unknown_decoy
    from .channel.unknown import detects_cheating as detects_cheating
    from .channel.unknown import detects_lies as detects_lies
    from .channel.view import channel_view as channel_view
    from .designing.best_channel import design as design
    from .designing.blocks import plan_block as plan_block
    from .designing.budgeting import budget as budget
    from .designing.planning import plan as plan
    from .designing.power import answers_for_difference as answers_for_difference
    from .designing.power import answers_for_power as answers_for_power
    from .designing.power import power as power
    from .designing.power import power_of_difference as power_of_difference
    from .designing.recommending import recommend as recommend
    from .designing.resolving import resolve as resolve
    from .designing.shuffle import shuffled_epsilon as shuffled_epsilon
    from .errors import AnalysisError as AnalysisError
    from .regression.latent import impute as impute
    from .regression.latent import rubin as rubin
    from .regression.models import correlate as correlate
    from .regression.models import linear as linear
    from .regression.models import logit as logit
    from .regression.models import multinomial as multinomial
    from .regression.models import ordinal as ordinal
    from .results.survey import report as report
    from .results.trend import trend as trend
    from .rounds.asking import queries as queries
    from .sampling.raking import rake as rake
    from .sampling.replicates import Replicates as Replicates
    from .sampling.weighted import weighted_estimate as weighted_estimate
    from .shares.compliance import sensitivity as sensitivity
    from .shares.constrained import constrained_estimate as constrained_estimate
    from .shares.constrained import maximise as maximise
    from .shares.cumulative import cumulative as cumulative
    from .shares.density import density as density
    from .shares.estimation import estimate as estimate
    from .shares.estimation import functional as functional
    from .shares.means import mean as mean
    from .shares.means import mean_difference as mean_difference
    from .shares.quantiles import quantiles as quantiles
    from .shares.result import Estimate as Estimate
    from .shares.two_groups import cheating_detection as cheating_detection
    from .shares.two_groups import cheating_detection_symmetric as cheating_detection_symmetric
    from .shares.two_groups import lie_detection as lie_detection
    from .shares.two_groups import unrelated_two_groups as unrelated_two_groups
    from .tables.anchoring import anchored as anchored
    from .tables.clustering import clusters as clusters
    from .tables.frames import compare as compare
    from .tables.frames import crosstab as crosstab
    from .tables.scores import sum_score as sum_score
    from .tables.synthetic import synthesize as synthesize

_HOME = {
    "AnalysisError": "errors",
    "Estimate": "shares.result",
    "Replicates": "sampling.replicates",
    "anchored": "tables.anchoring",
    "answers_for_difference": "designing.power",
    "answers_for_power": "designing.power",
    "asks_unknown_decoy": "channel.unknown",
    "budget": "designing.budgeting",
    "channel_view": "channel.view",
    "cheating_detection": "shares.two_groups",
    "cheating_detection_symmetric": "shares.two_groups",
    "clusters": "tables.clustering",
    "compare": "tables.frames",
    "constrained_estimate": "shares.constrained",
    "correlate": "regression.models",
    "crosstab": "tables.frames",
    "cumulative": "shares.cumulative",
    "density": "shares.density",
    "design": "designing.best_channel",
    "detects_cheating": "channel.unknown",
    "detects_lies": "channel.unknown",
    "estimate": "shares.estimation",
    "functional": "shares.estimation",
    "impute": "regression.latent",
    "lie_detection": "shares.two_groups",
    "linear": "regression.models",
    "logit": "regression.models",
    "maximise": "shares.constrained",
    "mean": "shares.means",
    "mean_difference": "shares.means",
    "multinomial": "regression.models",
    "ordinal": "regression.models",
    "plan": "designing.planning",
    "plan_block": "designing.blocks",
    "power": "designing.power",
    "power_of_difference": "designing.power",
    "quantiles": "shares.quantiles",
    "queries": "rounds.asking",
    "rake": "sampling.raking",
    "recommend": "designing.recommending",
    "report": "results.survey",
    "resolve": "designing.resolving",
    "rubin": "regression.latent",
    "sensitivity": "shares.compliance",
    "shuffled_epsilon": "designing.shuffle",
    "simulate": "channel.simulation",
    "sum_score": "tables.scores",
    "synthesize": "tables.synthetic",
    "trend": "results.trend",
    "unrelated_two_groups": "shares.two_groups",
    "weighted_estimate": "sampling.weighted",
}

__all__ = [
    "AnalysisError",
    "Estimate",
    "Replicates",
    "anchored",
    "answers_for_difference",
    "answers_for_power",
    "asks_unknown_decoy",
    "budget",
    "channel_view",
    "cheating_detection",
    "cheating_detection_symmetric",
    "clusters",
    "compare",
    "constrained_estimate",
    "correlate",
    "crosstab",
    "cumulative",
    "density",
    "design",
    "detects_cheating",
    "detects_lies",
    "estimate",
    "functional",
    "impute",
    "lie_detection",
    "linear",
    "logit",
    "maximise",
    "mean",
    "mean_difference",
    "multinomial",
    "ordinal",
    "plan",
    "plan_block",
    "power",
    "power_of_difference",
    "quantiles",
    "queries",
    "rake",
    "recommend",
    "report",
    "resolve",
    "rubin",
    "sensitivity",
    "shuffled_epsilon",
    "simulate",
    "sum_score",
    "synthesize",
    "trend",
    "unrelated_two_groups",
    "weighted_estimate",
]


def __getattr__(name: str) -> object:
    """Import the module of a public name when the name is first used."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
