"""What the gateway and the hop to a service cost: a small request through all of it, beside plain echo servers.

Called by service.py. ``POST /v1/images`` with one tiny picture passes the edge, the schemas, the guards, gRPC and the
servicer, and comes back described by an encoder that takes no time; the plain servers return their 1 KiB.
"""

import asyncio
import io
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

import grpc
from google.protobuf.wrappers_pb2 import BytesValue
from PIL import Image

from bench.echo_server import METHOD
from bench.measure import percentile
from bench.serving import CannotMeasure, open_process

BODY = bytes(1024)
BOUNDARY = b"a-line-between-parts"
WARM_UP = 50
REQUESTS = 300
READY_S = 120.0

Call = Callable[[], Awaitable[None]]


def tiny_picture() -> bytes:
    """Return a PNG of 32 x 32 red pixels."""
    file = io.BytesIO()
    Image.new("RGB", (32, 32), (220, 30, 30)).save(file, "PNG")
    return file.getvalue()


def form() -> bytes:
    """Return the body of a request with the picture, filled up to 1 KiB by a long file name."""
    head = b'--%s\r\nContent-Disposition: form-data; name="image"; filename="%s.png"\r\nContent-Type: image/png\r\n\r\n'
    tail = b"\r\n--%s--\r\n" % BOUNDARY
    picture = tiny_picture()
    filling = len(BODY) - len(head % (BOUNDARY, b"")) - len(picture) - len(tail)
    return head % (BOUNDARY, b"x" * filling) + picture + tail


@asynccontextmanager
async def http_call(address: str, path: str, body: bytes, kind: str) -> AsyncGenerator[Call, None]:
    """Yield a request over one connection that is kept: the thinnest client there is, the same for every server."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"

    async def call() -> None:
        writer.write(head.encode() + body)
        try:
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(answer.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            said = await reader.readexactly(length)
        except EOFError as error:  # not to be taken for the end of our own input
            raise ConnectionResetError(f"{path} was cut off") from error
        if not answer.startswith(b"http/1.1 200") or b'"error"' in said:
            raise CannotMeasure(f"{path} answered {answer[:40]!r} {said[:200]!r}")

    try:
        yield call
    finally:
        writer.close()


@asynccontextmanager
async def grpc_call(port: int) -> AsyncGenerator[Call, None]:
    """Yield a unary call of raw bytes."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        method: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHOD)

        async def call() -> None:
            await method(BODY)

        yield call


@asynccontextmanager
async def ray_call(port: int) -> AsyncGenerator[Call, None]:
    """Yield a unary call to Ray Serve, which finds the application in the metadata."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        method = channel.unary_unary(
            METHOD, request_serializer=BytesValue.SerializeToString, response_deserializer=BytesValue.FromString
        )

        async def call() -> None:
            await method(BytesValue(value=BODY), metadata=(("application", "app"),))

        yield call


async def timed(call: Call) -> list[float]:
    """Return the milliseconds of each of some requests, one after the other."""
    times = []
    for _ in range(REQUESTS):
        started_s = time.perf_counter()
        await call()
        times.append((time.perf_counter() - started_s) * 1e3)
    return times


async def run(*, rivals: bool, repeats: int) -> dict[str, float | None]:
    """Return the P50 of every way in milliseconds, visited in turn and taken together, and ours over theirs."""
    async with AsyncExitStack() as stack:
        calls = await _open_calls(stack, rivals)
        times: dict[str, list[float]] = {name: [] for name in calls}
        try:
            for call in calls.values():
                for _ in range(WARM_UP):
                    await call()
            for _ in range(repeats):
                for name, call in calls.items():
                    times[name] += await timed(call)
        except (OSError, grpc.aio.AioRpcError) as error:
            raise CannotMeasure(f"a server stopped answering: {error}") from error
    return figures(times)


async def _open_calls(stack: AsyncExitStack, rivals: bool) -> dict[str, Call]:
    kind = f"multipart/form-data; boundary={BOUNDARY.decode()}"
    enter = stack.enter_async_context
    # One after the other: a port is free only until somebody listens there. The slowest first: HTTP servers close a
    # connection that is idle for 5 s.
    rival: dict[str, Call] = {}
    if rivals:
        ray = await enter(open_process("ray", "bench.rivals.ray_echo_server")) + 1
        rival["ray_grpc"] = await _ready(lambda: enter(ray_call(ray)))
    encoder = await enter(open_process("encoder", "bench.echo_encoder"))
    await _until_open(encoder)
    variables = {"ATTUNE_GATEWAY_VISION": f"127.0.0.1:{encoder}"}
    port = await enter(open_process("gateway", "services.cli", "gateway", "--port", variables=variables))
    ours = partial(http_call, f"127.0.0.1:{port}", "/v1/images", form(), kind)
    calls = {"gateway": await _ready(lambda: enter(ours()))}
    port = await enter(open_process("fastapi", "bench.echo_server", "fastapi"))
    raw = partial(http_call, f"127.0.0.1:{port}", "/predict", BODY, "application/octet-stream")
    calls["fastapi"] = await _ready(lambda: enter(raw()))
    port = await enter(open_process("grpc", "bench.echo_server", "grpc"))
    calls["grpc_aio"] = await _ready(lambda: enter(grpc_call(port)))
    return calls | rival


async def _until_open(port: int) -> None:
    deadline_s = time.monotonic() + READY_S
    while time.monotonic() < deadline_s:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.1)
    raise CannotMeasure(f"nobody listens on port {port} after {READY_S:g} s")


async def _ready(opener: Callable[[], Awaitable[Call]]) -> Call:
    """Return a call that has been answered once; a server that has just been started may take its time."""
    deadline_s = time.monotonic() + READY_S
    while True:
        try:
            call = await opener()
            await call()
        except (OSError, grpc.aio.AioRpcError) as error:
            if time.monotonic() > deadline_s:
                raise CannotMeasure(f"no answer within {READY_S:g} s: {error}") from error
            await asyncio.sleep(0.2)
        else:
            return call


def figures(times: dict[str, list[float]]) -> dict[str, float | None]:
    """Return medians, and the two ratios that have bars; the one to Ray Serve only where that was measured."""
    p50 = {name: percentile(values, 50) or math.nan for name, values in times.items()}
    found: dict[str, float | None] = {f"{name}_p50_ms": round(value, 3) for name, value in p50.items()}
    found["gateway_over_plain"] = round(p50["gateway"] / (p50["fastapi"] + p50["grpc_aio"]), 3)
    found["gateway_over_ray_grpc"] = round(p50["gateway"] / p50["ray_grpc"], 3) if "ray_grpc" in p50 else None
    return found
