"""Channels: `base` says what one is, every other file is one published form of it."""

# In the order in which the forms are listed.
# isort: off
from . import krr as krr
from . import table as table
from . import columns as columns
from . import subset as subset
from . import sampled as sampled
from . import padded as padded
# isort: on

from .base import SCALE, Channel
from .wire import Bitmap, Code, Ranked, Whole, Wire

__all__ = ["SCALE", "Bitmap", "Channel", "Code", "Ranked", "Whole", "Wire"]
