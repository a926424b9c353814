"""The errors a caller of this client meets: one class with the server's codes, one more for a session that broke off.

Raised by the session and the REST client; the codes are those of the server's table of errors.
"""

# Close code → code, and whether trying again makes sense.
_CLOSE_CODES = {
    1001: ("unavailable", True),
    1006: ("unavailable", True),
    1011: ("internal", False),
    1012: ("unavailable", True),
    1013: ("overloaded", True),
    4400: ("invalid_input", False),
    4401: ("unauthenticated", False),
    4403: ("forbidden", False),
    4404: ("not_found", False),
    4408: ("idle", True),
    4409: ("conflict", False),
    4413: ("too_large", False),
    4429: ("overloaded", True),
}

_STATUSES = {
    401: ("unauthenticated", False),
    403: ("forbidden", False),
    404: ("not_found", False),
    408: ("idle", True),
    409: ("conflict", True),
    413: ("too_large", False),
    415: ("unsupported_media", False),
    429: ("overloaded", True),
    502: ("unavailable", True),
    503: ("unavailable", True),
    504: ("deadline_exceeded", True),
}


class AttuneError(Exception):
    """Something was refused or failed.

    ``code`` is the server's (``invalid_input``, ``overloaded`` …) or ``bad_answer`` when the server's answer could not
    be read; ``param`` names the field at fault; ``retryable`` says whether the same call may succeed later.
    """

    def __init__(self, code: str, message: str, *, param: str | None = None, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.retryable = retryable
        self.retry_after_s: float | None = None


class SessionClosed(AttuneError):
    """The connection ended before the session did. ``close_code`` is the WebSocket's, ``reason`` its text."""

    def __init__(self, close_code: int, reason: str = "") -> None:
        code, retryable = _CLOSE_CODES.get(close_code, ("internal", False))
        super().__init__(code, f"the server closed the session: {reason or code} ({close_code})", retryable=retryable)
        self.close_code = close_code
        self.reason = reason


def first_error(error: BaseException) -> BaseException:
    """Return the first error that a group of a TaskGroup holds, however deep; any other error is itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def error_from_status(status: int, message: str) -> AttuneError:
    """Return the error for an HTTP status whose body says nothing."""
    code, retryable = _STATUSES.get(status, ("internal" if status >= 500 else "invalid_input", False))
    return AttuneError(code, message, retryable=retryable)


def error_from_problem(status: int, problem: object, retry_after: str | None) -> AttuneError:
    """Return the error that an answer with ``status`` carries as problem+json (RFC 9457), or as nothing readable."""
    fields = problem if isinstance(problem, dict) else {}
    error = error_from_status(status, str(fields.get("detail") or fields.get("title") or f"HTTP status {status}"))
    error.code = str(fields.get("code", error.code))
    error.param = None if fields.get("param") is None else str(fields["param"])
    error.retryable = bool(fields.get("retryable", error.retryable))
    error.retry_after_s = float(retry_after) if retry_after and retry_after.isdecimal() else None
    return error
