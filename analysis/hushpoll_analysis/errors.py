"""The errors of the analysis, below the one root of all hushpoll errors.

HushpollError (a ValueError)
└── AnalysisError              data or a request from which no honest number can be computed
    └── NotIdentifiedError     the channel does not determine the quantity asked for
"""

from __future__ import annotations

from hushpoll_client import HushpollError


class AnalysisError(HushpollError):
    """Data or a request from which no honest number can be computed; the message says what, where and how."""


class NotIdentifiedError(AnalysisError):
    """The channel does not determine the quantity asked for, however many reports there are."""
