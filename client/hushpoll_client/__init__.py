"""The promise made to the respondent: what is randomized, how, and exactly how private that is."""

from .errors import HushpollError

__version__ = "0.1.0"
__all__ = ["HushpollError", "__version__"]
