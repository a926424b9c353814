"""Conversions that more than one port needs."""

from attune.v1 import common_pb2 as pb
from services.common.errors import InvalidInput
from services.common.types import Box, RegionTokenHandle, RegionTokens, StageTiming


def timing_to_pb(timing: StageTiming) -> pb.StageTiming:
    """Return the message for a stage's timing."""
    return pb.StageTiming(queue_us=timing.queue_us, compute_us=timing.compute_us, device_us=timing.device_us)


def timing_from_pb(message: pb.StageTiming) -> StageTiming:
    """Return a stage's timing."""
    return StageTiming(message.queue_us, message.compute_us, message.device_us)


def box_to_pb(box: Box) -> pb.Box:
    """Return the message for a box; coordinates become float32."""
    return pb.Box(x0=box.x0, y0=box.y0, x1=box.x1, y1=box.y1)


def box_from_pb(message: pb.Box) -> Box:
    """Return a box."""
    return Box(message.x0, message.y0, message.x1, message.y1)


def tokens_to_pb(tokens: RegionTokens) -> pb.RegionTokens:
    """Return the message for inline tokens."""
    return pb.RegionTokens(
        space=tokens.space,
        rows=tokens.rows,
        cols=tokens.cols,
        dim=tokens.dim,
        cells=tokens.cells,
        pooled=tokens.pooled,
    )


def tokens_from_pb(message: pb.RegionTokens) -> RegionTokens:
    """Return inline tokens; InvalidInput where the byte counts do not fit the grid."""
    expected_bytes = 2 * message.rows * message.cols * message.dim
    if not expected_bytes or len(message.cells) != expected_bytes or len(message.pooled) != 2 * message.dim:
        raise InvalidInput(
            f"region tokens do not fit their grid: {message.rows}x{message.cols} cells of {message.dim} float16 make "
            f"{expected_bytes} bytes, got {len(message.cells)}",
            param="tokens",
        )
    return RegionTokens(message.space, message.rows, message.cols, message.dim, message.cells, message.pooled)


def handle_to_pb(handle: RegionTokenHandle) -> pb.RegionTokenHandle:
    """Return the message for tokens kept on a device."""
    return pb.RegionTokenHandle(process=handle.process, id=handle.id)


def handle_from_pb(message: pb.RegionTokenHandle) -> RegionTokenHandle:
    """Return the handle of tokens kept on a device."""
    return RegionTokenHandle(message.process, message.id)
