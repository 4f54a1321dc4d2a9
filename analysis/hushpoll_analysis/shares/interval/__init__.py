"""Confidence intervals: one file per method, `interval` as the one door.

Wilson, Clopper-Pearson and Jeffreys are intervals of one binomial frequency, mapped through the line that leads from
the frequency to the quantity. They are valid only where the estimate depends on one report frequency. Elsewhere MOVER
(an estimated decoy share) or the delta-method normal (Wald) interval stands in, and the result says so.
"""

from .adaptive import ENOUGH as ENOUGH
from .base import Interval as Interval
from .base import Resampling as Resampling
from .edges import fallback as fallback
from .edges import is_no_chance as is_no_chance
from .edges import misfit as misfit
from .edges import outside as outside
from .likelihood import crossings as crossings
from .registry import AUTO as AUTO
from .registry import METHODS as METHODS
from .registry import check_method as check_method
from .registry import in_words as in_words
from .registry import interval as interval
from .registry import intervals as intervals
from .registry import many_limits as many_limits
from .registry import method_for as method_for
