"""From report counts to estimates with intervals.

Names are loaded when first used, so that importing the package stays cheap. No module carries the name of a public
function: `from hushpoll_analysis import estimate` is the function, whatever was imported before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .channels import channel_view as channel_view
    from .constrained import constrained_estimate as constrained_estimate
    from .constrained import maximise as maximise
    from .errors import AnalysisError as AnalysisError
    from .estimation import estimate as estimate
    from .estimation import functional as functional
    from .models import correlate as correlate
    from .models import linear as linear
    from .models import logit as logit
    from .planning import plan as plan
    from .planning import recommend as recommend
    from .reporting import report as report
    from .results import Estimate as Estimate
    from .shuffle import shuffled_epsilon as shuffled_epsilon
    from .simulation import simulate as simulate
    from .surveyweights import rake as rake
    from .tables import compare as compare
    from .tables import crosstab as crosstab
    from .twogroup import cheating_detection as cheating_detection
    from .twogroup import cheating_detection_symmetric as cheating_detection_symmetric
    from .twogroup import lie_detection as lie_detection
    from .twogroup import unrelated_two_groups as unrelated_two_groups
    from .weighted import weighted_estimate as weighted_estimate

_HOME = {
    "AnalysisError": "errors",
    "Estimate": "results",
    "channel_view": "channels",
    "cheating_detection": "twogroup",
    "cheating_detection_symmetric": "twogroup",
    "compare": "tables",
    "constrained_estimate": "constrained",
    "correlate": "models",
    "crosstab": "tables",
    "estimate": "estimation",
    "functional": "estimation",
    "lie_detection": "twogroup",
    "linear": "models",
    "logit": "models",
    "maximise": "constrained",
    "plan": "planning",
    "rake": "surveyweights",
    "recommend": "planning",
    "report": "reporting",
    "shuffled_epsilon": "shuffle",
    "simulate": "simulation",
    "unrelated_two_groups": "twogroup",
    "weighted_estimate": "weighted",
}

__all__ = [
    "AnalysisError",
    "Estimate",
    "channel_view",
    "cheating_detection",
    "cheating_detection_symmetric",
    "compare",
    "constrained_estimate",
    "correlate",
    "crosstab",
    "estimate",
    "functional",
    "lie_detection",
    "linear",
    "logit",
    "maximise",
    "plan",
    "rake",
    "recommend",
    "report",
    "shuffled_epsilon",
    "simulate",
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
