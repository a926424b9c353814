"""Puts an aligner on gRPC as ``attune.v1.CrossModalAligner``."""

from functools import partial

from attune.v1 import aligner_pb2_grpc
from services.common.grpc_server import Hosted, health_of, stream_method
from services.common.ports import Aligner
from services.common.wire.aligner import CODEC

NAME = "attune.v1.CrossModalAligner"


class CrossModalAlignerServicer:
    """The service's one method, bound to a port."""

    def __init__(self, port: Aligner) -> None:
        self.Align = stream_method("aligner.align", port, CODEC)


def hosted(port: Aligner) -> Hosted:
    """Return the service as the server hosts it."""
    add = partial(aligner_pb2_grpc.add_CrossModalAlignerServicer_to_server, CrossModalAlignerServicer(port))
    return Hosted(NAME, add, health_of(port))
