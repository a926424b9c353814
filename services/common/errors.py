"""The one table of errors: what each means on gRPC, HTTP and WebSocket, and who may try again.

Foreign exceptions are turned into these where the foreign library is called. An exception that is none of these is our
fault: the edge logs it and shows the fixed text of ``Internal``.
"""

from typing import ClassVar


class AttuneError(Exception):
    """An error a caller may see. Subclasses are the rows of the table, class attributes its columns."""

    code: ClassVar[str] = "internal"
    grpc: ClassVar[str] = "INTERNAL"
    http: ClassVar[int] = 500
    ws_close: ClassVar[int] = 1011
    retryable: ClassVar[bool] = False
    trips_breaker: ClassVar[bool] = False

    def __init__(self, message: str, *, param: str | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after_s = retry_after_s


class InvalidInput(AttuneError):
    """The request cannot be understood or holds impossible values."""

    code, grpc, http, ws_close = "invalid_input", "INVALID_ARGUMENT", 400, 4400


class UnsupportedMedia(AttuneError):
    """The bytes are of no format that can be read."""

    code, grpc, http, ws_close = "unsupported_media", "INVALID_ARGUMENT", 415, 4400


class TooLarge(AttuneError):
    """More bytes, pixels or seconds than a limit allows."""

    code, grpc, http, ws_close = "too_large", "INVALID_ARGUMENT", 413, 4413


class KeyReused(AttuneError):
    """The idempotency key belongs to another body."""

    code, grpc, http, ws_close = "key_reused", "INVALID_ARGUMENT", 422, 4400


class Unauthenticated(AttuneError):
    """No key, or one that is not known."""

    code, grpc, http, ws_close = "unauthenticated", "UNAUTHENTICATED", 401, 4401


class Forbidden(AttuneError):
    """The key is known and may not do this."""

    code, grpc, http, ws_close = "forbidden", "PERMISSION_DENIED", 403, 4403


class NotFound(AttuneError):
    """There is no such thing, or no longer."""

    code, grpc, http, ws_close = "not_found", "NOT_FOUND", 404, 4404


class MethodNotAllowed(AttuneError):
    """There is such a thing, but it does not do that."""

    code, grpc, http, ws_close = "method_not_allowed", "UNIMPLEMENTED", 405, 4400


class Conflict(AttuneError):
    """Somebody else does the same right now."""

    code, grpc, http, ws_close = "conflict", "ABORTED", 409, 4409


class Idle(AttuneError):
    """The other side said nothing for too long."""

    code, grpc, http, ws_close, retryable = "idle", "CANCELLED", 408, 4408, True


class Overloaded(AttuneError):
    """No room now; ``retry_after_s`` says when to come back."""

    code, grpc, http, ws_close, retryable = "overloaded", "RESOURCE_EXHAUSTED", 429, 1013, True


class DeadlineExceeded(AttuneError):
    """The answer was not ready in time."""

    code, grpc, http, ws_close, retryable = "deadline_exceeded", "DEADLINE_EXCEEDED", 504, 1011, True


class Unavailable(AttuneError):
    """A service that is needed does not answer."""

    code, grpc, http, ws_close, retryable, trips_breaker = "unavailable", "UNAVAILABLE", 503, 1012, True, True


class Internal(AttuneError):
    """Our fault; the text says nothing of the inside."""

    code, grpc, http, ws_close, trips_breaker = "internal", "INTERNAL", 500, 1011, True


TABLE: dict[str, type[AttuneError]] = {
    row.code: row
    for row in (
        InvalidInput,
        UnsupportedMedia,
        TooLarge,
        KeyReused,
        Unauthenticated,
        Forbidden,
        NotFound,
        MethodNotAllowed,
        Conflict,
        Idle,
        Overloaded,
        DeadlineExceeded,
        Unavailable,
        Internal,
    )
}

INTERNAL_TEXT = "something went wrong on our side"


def error_of(code: str, message: str, *, param: str | None = None) -> AttuneError:
    """Return the error with this code; an unknown code is Internal."""
    return TABLE.get(code, Internal)(message, param=param)


def first_cause(error: BaseException) -> BaseException:
    """Return the exception itself, or the first member of a group, however deep."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def shown(error: BaseException) -> AttuneError:
    """Return what the caller may see of any exception."""
    cause = first_cause(error)
    return cause if isinstance(cause, AttuneError) else Internal(INTERNAL_TEXT)
