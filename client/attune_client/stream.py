"""The whole main job: a recording and its images go to the server in real time, a view runs, a report stays.

Called by ``attune stream`` and ``make demo``; errors come as AttuneError with one line to show.
"""

import asyncio
import math
import signal
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, Unpack, cast

from rich.console import Console

from attune_client.errors import AttuneError, SessionClosed, first_error
from attune_client.lag import percentile
from attune_client.media import MediaClock, TimedImage, duration_us, images_in, paced, read_pcm
from attune_client.microphone import recorded
from attune_client.report import check_writable, write_report
from attune_client.session import Session, connect
from attune_client.talk import Talk
from attune_client.transcript import Transcript
from attune_client.view import View, open_view
from attune_client.wire import CallerOptions

REFRESH_S = 0.125
DRAIN_S = 60.0

Audio: TypeAlias = AsyncGenerator[tuple[int, bytes], None]


@dataclass(frozen=True)
class Summary:
    """What came of a talk. Lags are in real time, 95 % of words had less; ``faults`` are the server's."""

    session_id: str
    duration_us: int
    words: int
    phrases: int
    matched: int
    images: int
    word_lag_p95_ms: int
    commit_lag_p95_ms: int
    faults: tuple[str, ...]
    files: tuple[Path, ...]


class StreamOptions(CallerOptions, total=False):
    """What ``stream_files`` takes beside the files: the session's options, and these."""

    speed: float
    """How much faster than recorded the audio is played. Default 1."""
    console: Console | None
    """Where the session is shown. Default: the terminal."""


@dataclass(frozen=True)
class _Run:
    talk: Talk
    audio: Audio
    clock: MediaClock


async def stream_files(
    url: str, audio: Path, images: Path | None, out: Path, **options: Unpack[StreamOptions]
) -> Summary:
    """Stream an audio file and a directory of images as if they happened now; write the report to ``out``.

    The report is also written when the session breaks off; the AttuneError that says why is raised after that.
    """
    clock = MediaClock(options.get("speed", 1.0))
    pcm = await asyncio.to_thread(read_pcm, audio)
    talk = await _talk(audio.name, duration_us(pcm), images)
    return await _stream(url, _Run(talk, paced(pcm, clock), clock), out, options)


async def stream_microphone(
    url: str, seconds: float, images: Path | None, out: Path, **options: Unpack[StreamOptions]
) -> Summary:
    """Stream the default microphone for ``seconds``, or until a signal, which ends the session in good order.

    SIGINT (Ctrl-C) and SIGTERM do. AttuneError for a number of seconds that is none.
    """
    if not 0 < seconds < math.inf:
        raise AttuneError("invalid_input", f"cannot listen for {seconds} seconds", param="seconds")
    clock = MediaClock()
    talk = await _talk("microphone", int(seconds * 1_000_000), images)
    stop = asyncio.Event()
    with _signals_set(stop):
        return await _stream(url, _Run(talk, _until(recorded(clock), talk.duration_us, stop), clock), out, options)


async def _talk(title: str, length_us: int, images: Path | None) -> Talk:
    shown = await asyncio.to_thread(images_in, images, length_us) if images else []
    return Talk(title, length_us, tuple(shown))


@contextmanager
def _signals_set(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    # Where loops have no signals (Windows), Ctrl-C cancels instead.
    with suppress(NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


async def _until(audio: Audio, end_us: int, stop: asyncio.Event) -> Audio:
    async with aclosing(audio) as blocks:
        async for pts_us, block in blocks:
            if pts_us >= end_us or stop.is_set():
                return
            yield pts_us, block


async def _stream(url: str, run: _Run, out: Path, options: StreamOptions) -> Summary:
    await asyncio.to_thread(check_writable, out)  # a talk that cannot be reported need not be given
    transcript = Transcript(run.clock.speed)
    files: list[Path] = []
    async with connect(url, **_caller_options(options)) as session:
        try:
            with open_view(options.get("console") or Console(), run.talk, transcript) as view:
                await _converse(session, run, transcript, view)
        except BaseExceptionGroup as group:
            raise first_error(group) from group
        finally:
            sent = replace(run.talk, duration_us=session.clock_us)
            if sent.duration_us:  # a report about nothing would mislead
                files = await asyncio.to_thread(write_report, out, sent, transcript)
    return _summary(sent, transcript, files)


def _caller_options(options: StreamOptions) -> CallerOptions:
    return cast(CallerOptions, {key: value for key, value in options.items() if key not in ("speed", "console")})


async def _converse(session: Session, run: _Run, transcript: Transcript, view: View) -> None:
    async with asyncio.TaskGroup() as tasks:
        helpers = [tasks.create_task(_send(session, run)), tasks.create_task(_keep_fresh(view, run.clock))]
        async for event in session:
            transcript.apply(event, run.clock.elapsed_us())
            view.event(event)
        for helper in helpers:
            helper.cancel()
    view.refresh(run.clock.position_us())
    if not transcript.ended:
        raise AttuneError("bad_answer", "the server closed the session without ending it", retryable=True)


async def _send(session: Session, run: _Run) -> None:
    waiting = deque(run.talk.images)
    with suppress(SessionClosed):  # the reader learns of it too, and why
        async with aclosing(run.audio) as blocks:
            async for pts_us, block in blocks:
                await _send_images(session, waiting, pts_us)
                await session.send_audio(block, pts_us)
        # Images after the end of the audio are sent too, unless it was stopped before they were due.
        stopped = session.clock_us < run.talk.duration_us
        await _send_images(session, waiting, session.clock_us if stopped else None)
        await session.end()
    await asyncio.sleep(DRAIN_S + run.talk.duration_us / 1_000_000)
    raise AttuneError("deadline_exceeded", "the server did not end the session in time", retryable=True)


async def _send_images(session: Session, waiting: deque[TimedImage], until_us: int | None) -> None:
    """Send the images due at ``until_us``; all that are left for None."""
    while waiting and (until_us is None or waiting[0].pts_us <= until_us):
        image = waiting.popleft()
        try:
            data = await asyncio.to_thread(image.path.read_bytes)
        except OSError as error:
            raise AttuneError("invalid_input", f"cannot read {image.path}: {error.strerror}", param="images") from error
        await session.send_image(data, image.pts_us)


async def _keep_fresh(view: View, clock: MediaClock) -> None:
    while True:
        view.refresh(clock.position_us())
        await asyncio.sleep(REFRESH_S)


def _summary(talk: Talk, transcript: Transcript, files: list[Path]) -> Summary:
    final, lags = transcript.final_alignments, transcript.lag.lags
    return Summary(
        session_id=transcript.ready.session_id if transcript.ready else "",
        duration_us=talk.duration_us,
        words=len(transcript.words),
        phrases=len(final),
        matched=sum(alignment.frame_id is not None for alignment in final),
        images=sum(frame.status == "seen" for frame in transcript.frames.values()),
        word_lag_p95_ms=round(percentile([lag.settled_us for lag in lags], 95) / 1000),
        commit_lag_p95_ms=round(percentile([lag.committed_us for lag in lags], 95) / 1000),
        faults=tuple(transcript.faults),
        files=tuple(files),
    )
