"""A vision service without a model: every image is answered at once with 1 KiB of tokens; ``PORT`` in the arguments.

Started by hop.py behind a real gateway. The server, the servicer, the wire and the traces are the shipped ones.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import uvloop

from services.common.grpc_server import open_server
from services.common.ports import Call
from services.common.settings import ProcessSettings
from services.common.telemetry import telemetry
from services.common.types import EncodedFrame, Image, ImageReport, RegionTokens, VisionEvent, VisionInput
from services.vision.servicer import hosted

TOKENS = RegionTokens("echo", 1, 1, 256, bytes(512), bytes(512))


async def encoder(inputs: AsyncIterator[VisionInput], _call: Call) -> AsyncGenerator[VisionEvent, None]:
    """Answer each image with the same tokens."""
    async for item in inputs:
        if isinstance(item, Image):
            yield EncodedFrame(item.id, item.pts_us, (), (), (), TOKENS, ImageReport("PNG", 32, 32))


async def main(port: int) -> None:
    """Serve until a signal."""
    async with open_server(f"127.0.0.1:{port}", [hosted(encoder)]):
        await asyncio.Event().wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as traces, telemetry("echo", ProcessSettings(trace_dir=Path(traces))):
        uvloop.run(main(int(sys.argv[1])))
