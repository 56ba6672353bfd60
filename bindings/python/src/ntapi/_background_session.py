"""What a background session found that a process before this one left."""

from __future__ import annotations

from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from typing_extensions import Unpack

    from ._aliases import Args, ResponseHandler
    from ._errors import ApiError
    from ._handles import Handle
    from ._keywords import ProgressHandlers
    from ._protocols import Place
    from ._request import Request


class BackgroundSession:
    """The part of a client that takes up transfers again."""

    _handle: Handle

    def _usual_place(self, has_handler: bool) -> Place:
        """Where handlers run when no arg says."""
        raise NotImplementedError

    @property
    def background_error(self) -> Optional[ApiError]:
        """Why the background session cannot be used: another process has it open, which is named.

        None when it can, and for other clients. Every request fails with this error.
        """
        pointer = lib.ntapi_client_background_error(self._handle.pointer)
        if not pointer:
            return None
        from ._errors import take_error

        return take_error(pointer, "")

    def restored_requests(
        self,
        args: Args = (),
        handler: Optional[ResponseHandler] = None,
        **handlers: Unpack[ProgressHandlers],
    ) -> list[Request]:
        """The transfers of the background session that a process before this one left, and that
        were not resumed yet.

        Those of higher priority first, and of the same the older ones. Each is suspended, and has
        the identifier and the description that it was made with. A download goes on where it was.
        An upload is sent again from its beginning when its method is idempotent; otherwise it ends
        with a network error which says that its result is ambiguous. One that has ended, but whose
        handler had not returned, is not sent again: its handler gets what was recorded. The args
        say where handlers run; others have no effect.
        """
        from ._building import restore

        client: Any = self  # which this is a part of
        return restore(
            client,
            args,
            handlers,
            usual_place=self._usual_place(handler is not None),
            handler=handler,
        )

    def resume_restored_requests(
        self,
        args: Args = (),
        handler: Optional[ResponseHandler] = None,
        **handlers: Unpack[ProgressHandlers],
    ) -> int:
        """Resumes all `restored_requests`, in order, with one handler; returns how many there are.

        The response's `request` says which it is.
        """
        requests = self.restored_requests(args, handler, **handlers)
        for request in requests:
            request.resume()
        return len(requests)
