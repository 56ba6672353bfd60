"""Medians, spreads, and ratios within the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Spread:
    """A median, and between which values the rounds lay."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """The spread of at least one value."""
    return Spread(median(values), min(values), max(values))


def ratios(values: Sequence[float], reference: Sequence[float]) -> Spread | None:
    """Each round's value by the reference's of the same round, so that a slow minute hits both.

    None when there is no round in which both were measured, or nothing to divide by.
    """
    pairs = [(value, other) for value, other in zip(values, reference, strict=False) if other > 0]
    return spread([value / other for value, other in pairs]) if pairs else None
