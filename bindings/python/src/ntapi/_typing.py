"""Names of typing that Python 3.9 does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self
else:
    Self = Any

__all__ = ["Self"]
