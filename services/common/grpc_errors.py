"""Between the error table and gRPC statuses; the code travels in ``google.rpc.ErrorInfo``."""

from typing import cast

import grpc
import structlog
from google.protobuf.any_pb2 import Any
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from services.common.errors import INTERNAL_TEXT, TABLE, AttuneError, Internal, error_of, shown

DOMAIN = "attune"

# What a status means when it carries no code of ours: the transport or a foreign server made it.
_BY_STATUS = {
    grpc.StatusCode.INVALID_ARGUMENT: "invalid_input",
    grpc.StatusCode.UNAUTHENTICATED: "unauthenticated",
    grpc.StatusCode.PERMISSION_DENIED: "forbidden",
    grpc.StatusCode.NOT_FOUND: "not_found",
    grpc.StatusCode.ABORTED: "conflict",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "overloaded",
    grpc.StatusCode.DEADLINE_EXCEEDED: "deadline_exceeded",
    grpc.StatusCode.UNAVAILABLE: "unavailable",
    # A server that goes away cancels its streams; our own cancellation never reaches this table.
    grpc.StatusCode.CANCELLED: "unavailable",
}

# What users read then: the texts of gRPC name addresses and the inside of the library.
_TEXTS = {
    "unavailable": "{stage} does not answer",
    "deadline_exceeded": "{stage} did not answer in time",
    "internal": INTERNAL_TEXT,
}
_REFUSED = "{stage} refused the call"

log = structlog.get_logger(__name__)


def status_from_error(error: BaseException) -> grpc.Status:
    """Return the status, with details, that tells a client of any exception."""
    seen = shown(error)
    info = ErrorInfo(reason=seen.code, domain=DOMAIN)
    if seen.param is not None:
        info.metadata["param"] = seen.param
    if seen.retry_after_s is not None:
        info.metadata["retry_after_s"] = f"{seen.retry_after_s:.3f}"
    detail = Any()
    detail.Pack(info)
    status = Status(code=Code.Value(seen.grpc), message=seen.message, details=[detail])
    return cast("grpc.Status", rpc_status.to_status(status))


def error_from_rpc(error: grpc.aio.AioRpcError, stage: str) -> AttuneError:
    """Return the table's error that a failed call to ``stage`` stands for; a foreign text is logged, never shown."""
    info = _error_info(error)
    if info is not None and info.reason in TABLE:
        found = error_of(info.reason, error.details() or "", param=info.metadata.get("param"))
        retry_after_s = info.metadata.get("retry_after_s")
        found.retry_after_s = float(retry_after_s) if retry_after_s else None
        return found
    code = _BY_STATUS.get(error.code(), Internal.code)
    log.info("foreign_status", stage=stage, status=error.code().name, text=error.details())
    return error_of(code, _TEXTS.get(code, _REFUSED).format(stage=stage))


def _error_info(error: grpc.aio.AioRpcError) -> ErrorInfo | None:
    try:
        status = rpc_status.from_call(error)
    except ValueError:  # details that contradict the status: not ours
        return None
    for detail in status.details if status else ():
        info = ErrorInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            return info
    return None
