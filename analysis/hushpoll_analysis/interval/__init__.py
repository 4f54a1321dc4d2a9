"""Confidence intervals: one file per method, `interval` as the one door.

Wilson, Blaker, Clopper-Pearson and Jeffreys are intervals of one binomial frequency, mapped through the line that leads
from the frequency to the quantity. They are valid only where the estimate depends on one report frequency. Elsewhere
MOVER (an estimated decoy share) or the delta-method normal (Wald) interval stands in, and the result says so.
"""

from .adaptive import ENOUGH as ENOUGH
from .base import Interval as Interval
from .base import IntervalMethod as IntervalMethod
from .base import Resampling as Resampling
from .design_registry import WEIGHTED_INTERVALS as WEIGHTED_INTERVALS
from .design_registry import design_method as design_method
from .design_registry import design_method_for as design_method_for
from .design_registry import quantity_method as quantity_method
from .edges import fallback as fallback
from .edges import is_no_chance as is_no_chance
from .edges import misfit as misfit
from .edges import outside as outside
from .effective import at_freedom as at_freedom
from .effective import effective_interval as effective_interval
from .effective import effective_quantity as effective_quantity
from .likelihood import crossings as crossings
from .registry import AUTO as AUTO
from .registry import METHODS as METHODS
from .registry import interval as interval
from .registry import interval_method as interval_method
from .registry import intervals as intervals
from .registry import joint_method as joint_method
from .registry import limits_of as limits_of
from .registry import method_for as method_for
from .registry import substitution_note as substitution_note
from .under_design import DesignMethod as DesignMethod
from .under_design import SampledShare as SampledShare
