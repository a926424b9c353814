"""The table's errors as OpenAI's clients know them: the error object, and whether their SDK shall try again.

Called by problems.py for the OpenAI routes, by the streamed transcript and by the realtime session.
"""

import math
from typing import Any

from fastapi.responses import JSONResponse

from services.common.errors import AttuneError, InvalidInput, NotFound, UnsupportedMedia

PATHS = ("/v1/audio/", "/v1/models")
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
RETRIED = {408, 409, 429}  # and all from 500 on: what the SDK sends again unless it is told not to


def speaks_openai(path: str) -> bool:
    """Say whether a route answers its errors in OpenAI's shape."""
    return path.startswith(PATHS)


def no_model(name: str) -> NotFound:
    """Return the error for a model that nobody serves."""
    return NotFound(f"the model {name!r} does not exist here: GET /v1/models lists those that do", param="model")


def error_json(error: AttuneError, status: int | None = None) -> dict[str, Any]:
    """Return OpenAI's error object."""
    status = status or status_of(error)
    kind = TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"message": error.message, "type": kind, "param": error.param, "code": _code(error)}


def status_of(error: AttuneError) -> int:
    """Return the HTTP status; for media that cannot be read OpenAI's is 400."""
    return InvalidInput.http if isinstance(error, UnsupportedMedia) else error.http


def error_answer(error: AttuneError, status: int | None = None) -> JSONResponse:
    """Return the HTTP answer for an error; ``status`` if not its own."""
    status = status or status_of(error)
    headers = {}
    if error.retry_after_s is not None or status in (429, 503):
        headers["Retry-After"] = str(math.ceil(error.retry_after_s or 1))
    if status in RETRIED or status >= 500:
        headers["x-should-retry"] = str(error.retryable).lower()
    return JSONResponse({"error": error_json(error, status)}, status, headers)


def _code(error: AttuneError) -> str:
    return "model_not_found" if isinstance(error, NotFound) and error.param == "model" else error.code
