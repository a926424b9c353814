"""Decodes a live container stream (Ogg Opus, WebM) while it comes, cut anywhere. Called by both kinds of live call.

Container bytes and flushes in; the same stream as 48 kHz mono float PCM out. FFmpeg wants to pull its bytes, so each
stream has a thread that waits for them; a thread per stream is enough because opus costs 1 % of real time.
"""

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace

import av

from services.asr.produced import Emit, produced
from services.common.errors import InvalidInput, UnsupportedMedia
from services.common.types import AudioChunk, Encoding, Flush, RecognizeConfig, SpeechInput

RATE_HZ = 48_000
FORMATS = {Encoding.OPUS: "ogg", Encoding.WEBM: "matroska"}
# FFmpeg would look at five seconds of a stream before it says what is in it.
PROBING = {"analyzeduration": "0", "probesize": "4096"}
PIECE_BYTES = 16 * 2**10
PIECES_WAITING = 16
SLICE_BYTES = 4_800 * 4  # 100 ms of samples at most go out as one
DECODED_WAITING = 64  # slices that the session has not taken; then the thread waits

Decoded = AudioChunk | Flush | Exception | None


def pcm_config(config: RecognizeConfig) -> RecognizeConfig:
    """Return the configuration of the decoded stream."""
    return replace(config, encoding=Encoding.PCM_F32LE, sample_rate_hz=RATE_HZ, channels=1)


def decoded(config: RecognizeConfig, inputs: AsyncIterator[SpeechInput]) -> AsyncGenerator[AudioChunk | Flush, None]:
    """Yield the stream as PCM; UnsupportedMedia when the bytes are not what the configuration says."""

    async def work(emit: Emit[AudioChunk | Flush]) -> None:
        await _decode(config, inputs, emit)

    return produced(work, 1)  # the stream itself holds what waits


async def _decode(config: RecognizeConfig, inputs: AsyncIterator[SpeechInput], emit: Emit[AudioChunk | Flush]) -> None:
    stream = _ContainerStream(config, asyncio.get_running_loop())
    stream.start()
    try:
        async with asyncio.TaskGroup() as group:
            feeding = group.create_task(stream.feed(inputs))
            while (item := await stream.take()) is not None:
                if isinstance(item, Exception):
                    raise item
                await emit(item)
            feeding.cancel()
    finally:
        stream.close()


class _ContainerStream:
    """One stream's bytes on their way through FFmpeg; the file that its thread reads."""

    def __init__(self, config: RecognizeConfig, loop: asyncio.AbstractEventLoop) -> None:
        self._config = config
        self._loop = loop
        self._room = asyncio.Semaphore(PIECES_WAITING)
        self._decoded: asyncio.Queue[Decoded] = asyncio.Queue()  # bounded by ``_free``, which a thread can wait for
        self._free = threading.Semaphore(DECODED_WAITING)
        self._waiting: queue.SimpleQueue[bytes | Flush | None] = queue.SimpleQueue()
        self._piece = b""
        self._closed = False  # no more bytes
        self._left = False  # nobody takes any more
        self._came = self._opened = False
        self._samples = 0

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="asr.container", daemon=True).start()

    async def feed(self, inputs: AsyncIterator[SpeechInput]) -> None:
        """Hand the inputs to the thread, no faster than it reads them."""
        async for item in inputs:
            match item:
                case AudioChunk(_, _, data):
                    for begin in range(0, len(data), PIECE_BYTES):
                        await self._let_in(data[begin : begin + PIECE_BYTES])
                case Flush():
                    await self._let_in(item)
                case RecognizeConfig():
                    raise InvalidInput("the configuration must come once, and first", param="config")
        self._waiting.put(None)

    async def take(self) -> Decoded:
        """Return what was decoded next; None at the end, an exception when the stream cannot be read."""
        item = await self._decoded.get()
        self._free.release()
        return item

    def close(self) -> None:
        """End the thread: it reads the end of its file next, and need not wait to be heard."""
        self._closed = self._left = True
        self._waiting.put(None)
        self._free.release()

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most ``size``; wait for them. Called by FFmpeg on the thread."""
        while not self._piece and not self._closed:
            match self._waiting.get():
                case None:
                    self._closed = True
                case Flush() as flush:
                    self._call(self._room.release)
                    self._tell(flush)  # everything before it has been asked for, so it has been decoded
                case piece:
                    self._call(self._room.release)
                    self._piece = piece
                    self._came = True
        taken, self._piece = self._piece[:size], self._piece[size:]
        return taken

    async def _let_in(self, item: bytes | Flush) -> None:
        await self._room.acquire()
        self._waiting.put(item)

    def _run(self) -> None:
        ending: Exception | None = None
        try:
            self._demux()
        except (av.error.FFmpegError, ValueError, IndexError) as error:
            broke_off = self._opened and isinstance(error, av.error.EOFError)
            if self._came and not broke_off:
                ending = UnsupportedMedia(f"the bytes are no {self._config.encoding.value} stream that can be read")
        self._tell(ending)

    def _demux(self) -> None:
        form = FORMATS[self._config.encoding]
        with av.open(self, format=form, options=PROBING, metadata_errors="replace") as container:
            audio = container.streams.audio[0]
            self._opened = True
            resampler = av.AudioResampler("flt", "mono", RATE_HZ)
            for frame in container.decode(audio):
                self._tell_samples(resampler.resample(frame))
            self._tell_samples(resampler.resample(None))

    def _tell_samples(self, parts: "list[av.AudioFrame]") -> None:
        for part in parts:
            data = part.to_ndarray().tobytes()
            for begin in range(0, len(data), SLICE_BYTES):
                pts_us = self._config.start_us + self._samples * 1_000_000 // RATE_HZ
                piece = data[begin : begin + SLICE_BYTES]
                self._samples += len(piece) // 4
                self._tell(AudioChunk(0, pts_us, piece))

    def _tell(self, item: Decoded) -> None:
        """Hand over what was decoded, no faster than it is taken."""
        self._free.acquire()
        if self._left:
            self._free.release()  # for the next one: nobody takes any more
        else:
            self._call(lambda: self._decoded.put_nowait(item))

    def _call(self, function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(function)
