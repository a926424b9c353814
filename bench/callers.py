"""How the load calls each batching server: a number of steps in, nothing out, an exception when it fails.

Called by load.py. The HTTP client is the thinnest there is, so that the rivals are not charged for their client.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol

import grpc

from bench.batch_server import BATCHES, RUN

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Caller(Protocol):
    """Sends one request and waits for its answer."""

    async def call(self, steps: int) -> None:
        """Raise when the server fails."""

    async def batches(self) -> int:
        """Return how many batches the server has run; -1 where it does not say."""


class GrpcCaller:
    """Calls our server."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._run: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(RUN)
        self._batches: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(BATCHES)

    async def call(self, steps: int) -> None:
        """Raise AioRpcError when the server fails."""
        await self._run(str(steps).encode())

    async def batches(self) -> int:
        """Return how many batches the server has run."""
        return int(await self._batches(b""))


class HttpCaller:
    """Calls a rival over HTTP/1.1 with connections that are kept."""

    def __init__(self, port: int, kind: str) -> None:
        self._port = port
        self._path = "/v2/models/model/infer" if kind == "triton" else "/predict"
        self._triton = kind == "triton"
        self._idle: list[Connection] = []

    async def call(self, steps: int) -> None:
        """Raise ConnectionError when the server answers anything but 200."""
        reader, writer = self._idle.pop() if self._idle else await asyncio.open_connection("127.0.0.1", self._port)
        body = json.dumps(self._body(steps)).encode()
        head = f"POST {self._path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n"
        writer.write(head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body)
        try:
            await self._read_answer(reader)
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))

    async def batches(self) -> int:
        """Say that it is not known."""
        return -1

    def close(self) -> None:
        """Close the connections."""
        for _, writer in self._idle:
            writer.close()

    async def _read_answer(self, reader: asyncio.StreamReader) -> None:
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().splitlines()
        headers = dict(line.split(": ", 1) for line in lines if line)
        if headers.get("transfer-encoding") == "chunked":
            await _read_chunks(reader)
        else:
            await reader.readexactly(int(headers["content-length"]))
        if " 200 " not in status + " ":
            raise ConnectionError(status)

    def _body(self, steps: int) -> object:
        if not self._triton:
            return {"n": steps}
        return {"inputs": [{"name": "N", "shape": [1, 1], "datatype": "INT32", "data": [steps]}]}


async def _read_chunks(reader: asyncio.StreamReader) -> None:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        await reader.readexactly(size + len(b"\r\n"))
    await reader.readuntil(b"\r\n")


@asynccontextmanager
async def open_caller(kind: str, port: int) -> AsyncGenerator[Caller, None]:
    """Yield the caller for a kind of server: attune, or a rival's name."""
    if kind == "attune":
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield GrpcCaller(channel)
        return
    http = HttpCaller(port, kind)
    try:
        yield http
    finally:
        http.close()
