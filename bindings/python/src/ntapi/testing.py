"""What tests of programs that use ntapi need: time that stands still."""

from __future__ import annotations

from ._clock import ManualClock

__all__ = ["ManualClock"]
