"""The version of the package, which is the version of the header it was written against."""

from __future__ import annotations

__version__ = "0.2.0"
