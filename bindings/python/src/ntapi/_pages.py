"""The requests for page after page."""

from __future__ import annotations

from urllib.parse import urlsplit

from . import codes
from ._arg import Arg, flatten
from ._enums import ErrorDomain
from ._errors import ApiError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

    from ._response import Response
    from ._types import Args

_OF_THE_URL = frozenset({"base_url", "path", "url", "url_default"})
"""Kinds of args that the URL of the next page has in it already."""


class Pages:
    """What the next request of a series is made with."""

    def __init__(
        self,
        command: str,
        args: tuple[Args, ...],
        following: Optional[Callable[[Response], Args]],
    ) -> None:
        self.command = command
        self._first = flatten(args)
        self.args: list[Arg] = self._first
        self._following = following

    def go_on(self, page: Response) -> bool:
        """Makes the request for the page after this one; False when this is the last."""
        if self._following is not None:
            more = flatten([self._following(page)])
            self.args = [*self._first, *more]
            return bool(more)
        link = page.link("next")
        if link is None:
            return False
        if _origin(link) != _origin(page.url):
            raise ApiError(
                codes.HTTP_ERROR,
                f"the next page of {page._summary()} is on another origin, which this request's "
                "credentials are not for: give `following` a function that says how to go there",
                domain=ErrorDomain.HTTP,
                http_status=page.status,
                response=page,
            )
        kept = [arg for arg in self._first if arg.kind not in _OF_THE_URL]
        self.command = ""
        self.args = [*kept, Arg("base_url", (link,))]
        return True


def _origin(url: str) -> tuple[str, Optional[str], Optional[int]]:

    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or usual
