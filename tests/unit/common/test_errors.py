"""The one table of errors, and its way over gRPC."""

import grpc
import pytest
from google.rpc.code_pb2 import Code

from services.common.errors import INTERNAL_TEXT, TABLE, AttuneError, Internal, InvalidInput, error_of, shown
from services.common.grpc_errors import error_from_rpc, status_from_error

DOCUMENTED = {  # code: gRPC, HTTP, WebSocket close, retry, trips the breaker
    "invalid_input": ("INVALID_ARGUMENT", 400, 4400, False, False),
    "unsupported_media": ("INVALID_ARGUMENT", 415, 4400, False, False),
    "too_large": ("INVALID_ARGUMENT", 413, 4413, False, False),
    "key_reused": ("INVALID_ARGUMENT", 422, 4400, False, False),
    "unauthenticated": ("UNAUTHENTICATED", 401, 4401, False, False),
    "forbidden": ("PERMISSION_DENIED", 403, 4403, False, False),
    "not_found": ("NOT_FOUND", 404, 4404, False, False),
    "conflict": ("ABORTED", 409, 4409, False, False),
    "method_not_allowed": ("UNIMPLEMENTED", 405, 4400, False, False),
    "idle": ("CANCELLED", 408, 4408, True, False),
    "overloaded": ("RESOURCE_EXHAUSTED", 429, 1013, True, False),
    "deadline_exceeded": ("DEADLINE_EXCEEDED", 504, 1011, True, False),
    "unavailable": ("UNAVAILABLE", 503, 1012, True, True),
    "internal": ("INTERNAL", 500, 1011, False, True),
}


def test_the_table_is_the_documented_one():
    """Every row and column stands as the protocol has it."""
    rows = {code: (row.grpc, row.http, row.ws_close, row.retryable, row.trips_breaker) for code, row in TABLE.items()}
    assert rows == DOCUMENTED
    assert all(hasattr(Code, "Value") and Code.Value(row.grpc) for row in TABLE.values())


@pytest.mark.parametrize("code", sorted(TABLE))
def test_every_error_survives_grpc(code: str):
    """Code, text, parameter and waiting time arrive as they left."""
    error = TABLE[code]("why", param="p", retry_after_s=1.5)
    status = status_from_error(error)
    call = grpc.aio.AioRpcError(
        status.code, grpc.aio.Metadata(), grpc.aio.Metadata(*status.trailing_metadata), status.details
    )
    seen = error_from_rpc(call, "asr")
    assert (type(seen), seen.message, seen.param, seen.retry_after_s) == (type(error), "why", "p", 1.5)


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        (grpc.StatusCode.UNAVAILABLE, "unavailable", "asr does not answer"),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "deadline_exceeded", "asr did not answer in time"),
        (grpc.StatusCode.CANCELLED, "unavailable", "asr does not answer"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "overloaded", "asr refused the call"),
        (grpc.StatusCode.UNIMPLEMENTED, "internal", INTERNAL_TEXT),
        (grpc.StatusCode.INTERNAL, "internal", INTERNAL_TEXT),
    ],
)
def test_a_status_without_details_is_understood(status: grpc.StatusCode, code: str, text: str):
    """What the transport itself reports has a row too, and its own words stay inside."""
    error = grpc.aio.AioRpcError(status, grpc.aio.Metadata(), grpc.aio.Metadata(), "ipv4:127.0.0.1:50051: secret")
    seen = error_from_rpc(error, "asr")
    assert (seen.code, seen.message) == (code, text)


def test_what_is_not_ours_is_hidden():
    """A foreign exception shows the fixed text; a group shows its first member."""
    assert shown(KeyError("secret")).message == INTERNAL_TEXT
    inner = InvalidInput("seen")
    assert shown(ExceptionGroup("g", [ExceptionGroup("h", [inner])])) is inner


def test_an_unknown_code_is_internal():
    """A code of a newer server is an error all the same."""
    assert isinstance(error_of("nova", "x"), Internal)
    assert isinstance(error_of("nova", "x"), AttuneError)
