"""Puts an image encoder on gRPC as ``attune.v1.VisionEncoder``."""

from functools import partial

from attune.v1 import vision_pb2, vision_pb2_grpc
from services.common.grpc_server import Hosted, health_of, stream_method
from services.common.grpc_whole import WholeMethod
from services.common.ports import ImageEncoder
from services.common.wire.vision import CODEC

NAME = "attune.v1.VisionEncoder"


class VisionEncoderServicer:
    """The service's methods, a stream and a whole, bound to a port."""

    def __init__(self, port: ImageEncoder) -> None:
        self.Encode = stream_method("vision.encode", port, CODEC)
        self.EncodeWhole = WholeMethod("vision.encode", port, CODEC, vision_pb2.EncodeResponses).__call__


def hosted(port: ImageEncoder) -> Hosted:
    """Return the service as the server hosts it."""
    add = partial(vision_pb2_grpc.add_VisionEncoderServicer_to_server, VisionEncoderServicer(port))
    return Hosted(NAME, add, health_of(port))
