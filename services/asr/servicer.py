"""Puts a transcriber on gRPC as ``attune.v1.SpeechRecognizer``."""

from functools import partial

from attune.v1 import asr_pb2_grpc
from services.common.grpc_server import Hosted, health_of, stream_method
from services.common.ports import Transcriber
from services.common.wire.asr import CODEC

NAME = "attune.v1.SpeechRecognizer"


class SpeechRecognizerServicer:
    """The service's one method, bound to a port."""

    def __init__(self, port: Transcriber) -> None:
        self.Recognize = stream_method("asr.recognize", port, CODEC)


def hosted(port: Transcriber) -> Hosted:
    """Return the service as the server hosts it."""
    add = partial(asr_pb2_grpc.add_SpeechRecognizerServicer_to_server, SpeechRecognizerServicer(port))
    return Hosted(NAME, add, health_of(port))
