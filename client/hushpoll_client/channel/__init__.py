"""Channels: `base` says what one is, every other file is one published form of it."""

from . import krr as krr
from . import table as table
from .base import SCALE, Channel
from .wire import Bitmap, Code, Whole, Wire

__all__ = ["SCALE", "Bitmap", "Channel", "Code", "Whole", "Wire"]
