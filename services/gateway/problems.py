"""Errors as HTTP answers: RFC 9457 problem details, the same for ours, FastAPI's and those nobody foresaw.

OpenAI's routes answer with OpenAI's error object instead.
"""

import math

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import Scope

from services.common.errors import TABLE, AttuneError, InvalidInput, shown
from services.gateway.openai.errors import error_answer, speaks_openai
from services.gateway.presence import CallerGone

NOBODY = 499  # what nginx logs for a caller that hung up; it is sent to nobody

log = structlog.get_logger(__name__)


def refusal(error: AttuneError, scope: Scope, status: int | None = None) -> JSONResponse:
    """Return the answer for an error in the shape that the route's clients know; ``status`` if not its own."""
    if speaks_openai(scope["path"]):
        return error_answer(error, status)
    return problem(error, scope["state"]["request_id"], status)


def problem(error: AttuneError, request_id: str, status: int | None = None) -> JSONResponse:
    """Return the problem document for an error, with ``Retry-After`` where waiting helps; ``status`` if not its own."""
    body = {
        "type": f"urn:attune:error:{error.code}",
        "title": error.code.replace("_", " "),
        "status": status or error.http,
        "detail": error.message,
        "code": error.code,
        "request_id": request_id,
        "retryable": error.retryable,
    }
    if error.param is not None:
        body["param"] = error.param
    headers = {}
    if error.retry_after_s is not None or error.http in (429, 503):
        headers["Retry-After"] = str(math.ceil(error.retry_after_s or 1))
    return JSONResponse(body, status or error.http, headers, media_type="application/problem+json")


def error_of_http(error: HTTPException) -> AttuneError:
    """Return the table's error for one that Starlette raised itself."""
    by_status = {row.http: row for row in TABLE.values()}
    row = by_status.get(error.status_code, InvalidInput)
    return row(str(error.detail))


def error_of_validation(error: RequestValidationError) -> InvalidInput:
    """Return the first thing that is wrong with a request, naming the field."""
    found = error.errors()[0]
    path = [str(step) for step in found["loc"] if step not in ("body", "query")]
    param = ".".join(path) or None
    return InvalidInput(f"{param or 'request'}: {found['msg']}", param=param)


def install_problems(app: FastAPI) -> None:
    """Make the app answer every error as a problem."""

    async def answer(request: Request, error: Exception) -> JSONResponse:
        match error:
            case RequestValidationError():
                seen: AttuneError = error_of_validation(error)
            case HTTPException(__cause__=AttuneError() as cause):  # FastAPI hides what ended the reading of a body
                return refusal(cause, request.scope)
            case HTTPException():
                seen = error_of_http(error)
            case _:
                seen = shown(error)
        if seen.http == 500:
            log.error("request_failed", exc_info=error)
        status = error.status_code if isinstance(error, HTTPException) else None
        told = refusal(seen, request.scope, status)
        told.headers.update(getattr(error, "headers", None) or {})  # Allow, for one
        return told

    async def answer_nobody(_request: Request, _error: Exception) -> Response:
        return Response(status_code=NOBODY)

    app.add_exception_handler(CallerGone, answer_nobody)
    for kind in (AttuneError, HTTPException, RequestValidationError, ExceptionGroup):
        app.add_exception_handler(kind, answer)
