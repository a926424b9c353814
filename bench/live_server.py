"""Starts ``attune serve asr vision aligner``, one process under a scheduling policy, and calls its three ports.

Called by live_order.py.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from attune.v1 import aligner_pb2_grpc, asr_pb2_grpc, vision_pb2_grpc
from bench.measure import gauge, tree_cpu_s
from bench.serving import LOGS, CannotMeasure, free_ports
from services.child import Child, tail
from services.common.grpc_client import open_channel, stream_client
from services.common.ports import Aligner, ImageEncoder, Transcriber
from services.common.wire import aligner as aligner_wire
from services.common.wire import asr as asr_wire
from services.common.wire import vision as vision_wire

START_S = 60.0
STOP_S = 15.0
# Orders are compared, not admissions: everybody is let in.
EVERYBODY = {"ATTUNE_ASR_MAX_LAG_S": "60", "ATTUNE_ASR_MAX_FILES": "256"}
BACKLOG = 'attune_backlog{stage="cpu"}'


@dataclass(frozen=True, slots=True)
class Served:
    """The three ports of one process, and how to look at it from outside."""

    transcriber: Transcriber
    image_encoder: ImageEncoder
    aligner: Aligner
    pid: int
    metrics_url: str

    def cpu_s(self) -> float:
        """Return the CPU seconds that the process and its decoders have used."""
        return tree_cpu_s(self.pid)

    async def backlog(self) -> float:
        """Return how many requests wait for the processor, as the process says: two or three times a second anew."""
        return gauge(await asyncio.to_thread(_read, self.metrics_url), BACKLOG) or 0.0


def _read(url: str) -> str:
    with urlopen(url, timeout=10) as answer:  # noqa: S310  # our own server
        return str(answer.read().decode())


@asynccontextmanager
async def serving(policy: str) -> AsyncGenerator[Served, None]:
    """Yield the services under that policy; CannotMeasure when they do not start."""
    port = free_ports(2)
    address = f"127.0.0.1:{port}"
    argv = [sys.executable, "-m", "services.cli", "serve", "asr", "vision", "aligner", "--listen", address]
    log = await asyncio.to_thread(_new_log, policy)
    env = {"ATTUNE_SCHEDULER_POLICY": policy, **EVERYBODY}
    child = Child("services", [*argv, "--metrics-port", str(port + 1)], env, log, address)
    await child.start()
    try:
        pid = await _ready(child)
        async with AsyncExitStack() as stack:
            channels = [await stack.enter_async_context(open_channel(address)) for _ in range(3)]
            yield Served(
                stream_client("asr", asr_pb2_grpc.SpeechRecognizerStub(channels[0]).Recognize, asr_wire.CODEC),
                stream_client("vision", vision_pb2_grpc.VisionEncoderStub(channels[1]).Encode, vision_wire.CODEC),
                stream_client("aligner", aligner_pb2_grpc.CrossModalAlignerStub(channels[2]).Align, aligner_wire.CODEC),
                pid,
                f"http://127.0.0.1:{port + 1}/metrics",
            )
    finally:
        await child.stop(STOP_S)


def _new_log(policy: str) -> Path:
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"bench-scheduler-{policy}.log"
    log.unlink(missing_ok=True)
    return log


async def _ready(child: Child) -> int:
    try:
        async with asyncio.timeout(START_S):
            await child.ready.wait()
    except TimeoutError:
        raise CannotMeasure(f"the services did not start:\n{tail(child.log)}") from None
    assert child.process is not None
    return child.process.pid
