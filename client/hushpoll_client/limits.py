"""The limits that every client keeps, whatever a survey or a server says."""

from __future__ import annotations

__all__ = [
    "CAP",
    "LENGTHS",
    "MAX_BYTES",
    "MAX_EPSILON",
    "MAX_OPTIONS",
    "MAX_QUESTIONS",
    "MAX_TABLE",
    "VERSION",
]

VERSION = 1
CAP = "20"  # the largest total epsilon that a client sends answers for
MAX_EPSILON = 20  # of one mechanism: nothing above the cap is worth compiling
MAX_QUESTIONS = 100
MAX_OPTIONS = 1000
MAX_TABLE = 64  # rows and columns of a published table: larger ones have a structured form or are refused
MAX_BYTES = 1 << 20  # of a published survey
LENGTHS = {"title": 200, "intro": 4000, "text": 1000, "option": 200, "decoy": 1000, "unit": 40}  # code points
