"""The image encoder's inputs and events as protobuf."""

from typing import assert_never

from google.protobuf.message import Message

from attune.v1 import vision_pb2 as pb
from services.common.errors import InvalidInput
from services.common.types import (
    EncodeConfig,
    EncodedFrame,
    FailedFrame,
    Image,
    ImageReport,
    Label,
    Region,
    RegionTokens,
    VisionEvent,
    VisionInput,
)
from services.common.wire import Codec
from services.common.wire.shared import (
    box_from_pb,
    box_to_pb,
    handle_from_pb,
    handle_to_pb,
    timing_from_pb,
    timing_to_pb,
    tokens_from_pb,
    tokens_to_pb,
)


def input_to_pb(item: VisionInput) -> Message:
    """Return the request that carries one input."""
    match item:
        case EncodeConfig(model):
            return pb.EncodeRequest(config=pb.EncodeConfig(model=model))
        case Image(id, pts_us, data):
            return pb.EncodeRequest(image=pb.Image(id=id, pts_us=pts_us, data=data))
        case _:
            assert_never(item)


def input_from_pb(message: Message) -> VisionInput:
    """Return the input that a request carries."""
    assert isinstance(message, pb.EncodeRequest)
    match message.WhichOneof("item"):
        case "config":
            return EncodeConfig(message.config.model)
        case "image":
            return Image(message.image.id, message.image.pts_us, message.image.data)
        case _:
            raise InvalidInput("a request without an item")


def labels_to_pb(labels: tuple[Label, ...]) -> list[pb.Label]:
    """Return the messages for labels; scores become float32."""
    return [pb.Label(text=label.text, score=label.score) for label in labels]


def region_to_pb(region: Region) -> pb.Region:
    """Return the message for a region."""
    return pb.Region(box=box_to_pb(region.box), labels=labels_to_pb(region.labels))


def region_from_pb(message: pb.Region) -> Region:
    """Return a region."""
    return Region(box_from_pb(message.box), tuple(Label(x.text, x.score) for x in message.labels))


def frame_to_pb(frame: EncodedFrame) -> pb.Frame:
    """Return the message for an encoded frame."""
    message = pb.Frame(
        id=frame.id,
        pts_us=frame.pts_us,
        labels=labels_to_pb(frame.labels),
        regions=map(region_to_pb, frame.regions),
        embedding=frame.embedding,
        report=report_to_pb(frame.report),
        timing=timing_to_pb(frame.timing),
    )
    if isinstance(frame.tokens, RegionTokens):
        message.inline.CopyFrom(tokens_to_pb(frame.tokens))
    else:
        message.handle.CopyFrom(handle_to_pb(frame.tokens))
    return message


def report_to_pb(report: ImageReport) -> pb.ImageReport:
    """Return the message for what was found in a file."""
    return pb.ImageReport(
        format=report.format,
        width=report.width,
        height=report.height,
        orientation=report.orientation,
        notes=report.notes,
    )


def report_from_pb(message: pb.ImageReport) -> ImageReport:
    """Return what was found in a file."""
    return ImageReport(message.format, message.width, message.height, message.orientation, tuple(message.notes))


def frame_from_pb(message: pb.Frame) -> EncodedFrame:
    """Return an encoded frame; InvalidInput where it has no tokens."""
    inline = message.WhichOneof("tokens") != "handle"
    return EncodedFrame(
        id=message.id,
        pts_us=message.pts_us,
        labels=tuple(Label(x.text, x.score) for x in message.labels),
        regions=tuple(map(region_from_pb, message.regions)),
        embedding=tuple(message.embedding),
        tokens=tokens_from_pb(message.inline) if inline else handle_from_pb(message.handle),
        report=report_from_pb(message.report),
        timing=timing_from_pb(message.timing),
    )


def output_to_pb(event: VisionEvent) -> Message:
    """Return the response that carries one event."""
    match event:
        case EncodedFrame():
            return pb.EncodeResponse(frame=frame_to_pb(event))
        case FailedFrame(id, code, text):
            return pb.EncodeResponse(failure=pb.FrameFailure(id=id, code=code, message=text))
        case _:
            assert_never(event)


def output_from_pb(message: Message) -> VisionEvent:
    """Return the event that a response carries."""
    assert isinstance(message, pb.EncodeResponse)
    match message.WhichOneof("event"):
        case "frame":
            return frame_from_pb(message.frame)
        case "failure":
            return FailedFrame(message.failure.id, message.failure.code, message.failure.message)
        case _:
            raise InvalidInput("a response without an event")


CODEC: Codec[VisionInput, VisionEvent] = Codec(input_to_pb, input_from_pb, output_to_pb, output_from_pb)
