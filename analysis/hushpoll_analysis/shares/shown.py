"""What is printed of an estimate."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Shown"]


@dataclass(frozen=True)
class Shown:
    """What to print: estimate and interval within the possible values. Never average or subtract these."""

    estimate: float
    low: float
    high: float
