"""``attune bench scheduler --live``: the real services under FIFO, then under EMBS, with the same requests.

Comes from the command line; returns figures for report.py, without bars: what comes out is what this machine shows.
The client runs on the same cores and takes what ``client_cpu_share`` says. Completion of a live talk counts from its
last sound to its last word, of all else from the request to its end; a wait is the time to the first answer.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from statistics import fmean, median

from attune_client.media import SAMPLE_RATE_HZ, MediaClock, paced
from bench.live_plan import FILE, FOLDER_OF_PICTURES, PHRASE, PICTURE, Plan, Sent, planned
from bench.live_server import Served, serving
from bench.scheduler import ratio
from bench.speech import clip_wav, read_two_cities
from bench.tour import Tour, read_tour
from services.common.errors import AttuneError
from services.common.ports import Call, Priority
from services.common.types import (
    AlignConfig,
    AlignInput,
    AudioChunk,
    Committed,
    Coverage,
    EncodeConfig,
    EncodedFrame,
    Encoding,
    Flush,
    FrameTokens,
    Image,
    Marker,
    RecognizeConfig,
    SpeechInput,
    SpokenWord,
    VisionInput,
    Words,
)

POLICIES = ("fifo", "embs")
LOOK_EVERY_S = 0.5
PIECE_BYTES = 2**18
SAMPLE_BYTES = 2
WORD_US = 300_000
LIVE, AT_REST = Call(session_id="bench"), Call(session_id="bench", priority=Priority.FILE)


@dataclass(frozen=True, slots=True)
class LiveRun:
    """What ``attune bench scheduler --live`` is told."""

    repeats: int = 1
    seconds: float = 60.0
    load: float = 1.2
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Answered:
    """How long one request took: to its first answer, and to its end."""

    kind: str
    live: bool
    first_s: float
    end_s: float


@dataclass(slots=True)
class Seen:
    """What one run under one policy showed."""

    answered: list[Answered] = field(default_factory=list)
    failed: int = 0
    idle_s: float = 0.0
    backlog_s: float = 0.0
    server_cpu_s: float = 0.0
    client_cpu_s: float = 0.0
    lasted_s: float = 0.0

    def completion_s(self, *, live: bool) -> float:
        """Return the mean completion time of one class."""
        return fmean(one.end_s for one in self.answered if one.live is live)

    @property
    def mean_s(self) -> float:
        """Return the mean completion time of all."""
        return fmean(one.end_s for one in self.answered)

    def longest_wait_s(self, *, live: bool) -> float:
        """Return the longest time to a first answer in one class."""
        return max(one.first_s for one in self.answered if one.live is live)

    @property
    def fragmentation(self) -> float:
        """Return the idle share of the cores over the time in which work waited."""
        return self.idle_s / self.backlog_s if self.backlog_s else 0.0


@dataclass(frozen=True, slots=True)
class Material:
    """What is sent: sound, pictures, phrases, and the frames that phrases are compared with."""

    pcm: bytes
    tour: Tour
    frames: tuple[FrameTokens, ...]


async def run(settings: LiveRun) -> dict[str, float | None]:
    """Return the figures: medians over the repeats, the policies taking turns; minutes."""
    cores = len(os.sched_getaffinity(0))
    plan = planned(settings.seed, settings.seconds, settings.load, cores)
    seen: dict[str, list[Seen]] = {policy: [] for policy in POLICIES}
    for _ in range(settings.repeats):
        for policy in POLICIES:
            async with serving(policy) as served:
                seen[policy].append(await driven(served, plan, cores))
    return figures(plan, seen, cores)


def figures(plan: Plan, seen: dict[str, list[Seen]], cores: int) -> dict[str, float | None]:
    """Return the figures of all runs, as medians."""
    fifo, embs = (_of(seen[policy], cores) for policy in POLICIES)
    compared = ("completion_s", "live_completion_s", "file_completion_s", "longest_wait_s", "fragmentation")
    return {
        "cores": cores,
        "repeats": len(seen["fifo"]),
        "live_requests": sum(one.live for one in plan.sent),
        "file_requests": sum(not one.live for one in plan.sent),
        "load_in_bursts": round(plan.load, 2),
        **{f"fifo_{name}": value for name, value in fifo.items()},
        **{f"embs_{name}": value for name, value in embs.items()},
        **{f"{name.removesuffix('_s')}_ratio": ratio(embs[name], fifo[name]) for name in compared},
    }


def _of(runs: Sequence[Seen], cores: int) -> dict[str, float]:
    each = [
        {
            "completion_s": one.mean_s,
            "live_completion_s": one.completion_s(live=True),
            "file_completion_s": one.completion_s(live=False),
            "live_longest_wait_s": one.longest_wait_s(live=True),
            "longest_wait_s": max(one.longest_wait_s(live=True), one.longest_wait_s(live=False)),
            "fragmentation": one.fragmentation,
            "backlog_s": one.backlog_s,
            "lasted_s": one.lasted_s,
            "server_cpu_share": one.server_cpu_s / one.lasted_s / cores,
            "client_cpu_share": one.client_cpu_s / one.lasted_s / cores,
            "failed": float(one.failed),
        }
        for one in runs
    ]
    return {name: round(median(run[name] for run in each), 3) for name in each[0]}


async def driven(served: Served, plan: Plan, cores: int) -> Seen:
    """Return what the services showed under the plan; they are warm before it begins."""
    material = await _prepared(served)
    seen, started_s, cpu_s, own_s = Seen(), time.monotonic(), served.cpu_s(), time.process_time()
    watching = asyncio.create_task(_watch(served, seen, cores))
    async with asyncio.TaskGroup() as group:
        for sent in plan.sent:
            group.create_task(_send(served, material, sent, started_s, seen))
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    seen.lasted_s = time.monotonic() - started_s
    seen.server_cpu_s, seen.client_cpu_s = served.cpu_s() - cpu_s, time.process_time() - own_s
    return seen


async def _watch(served: Served, seen: Seen, cores: int) -> None:
    """Add up the time in which work waits, and how much of the cores the process leaves idle in it."""
    before_s, cpu_s, waited = time.monotonic(), served.cpu_s(), False
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        waits = await served.backlog() > 0
        now_s, now_cpu_s = time.monotonic(), served.cpu_s()
        if waited and waits:
            seen.backlog_s += now_s - before_s
            seen.idle_s += max(0.0, now_s - before_s - (now_cpu_s - cpu_s) / cores)
        before_s, cpu_s, waited = now_s, now_cpu_s, waits


async def _send(served: Served, material: Material, sent: Sent, started_s: float, seen: Seen) -> None:
    await asyncio.sleep(max(0.0, started_s + sent.at_s - time.monotonic()))
    request = Request(served, material, sent)
    try:
        seen.answered.append(await request.answered())
    except AttuneError:
        seen.failed += 1


class Request:
    """One request on its way: sends it, and takes the times of its answers."""

    def __init__(self, served: Served, material: Material, sent: Sent) -> None:
        self._served, self._material, self._sent = served, material, sent
        self._from_s = time.monotonic()
        self._first_s: float | None = None

    async def answered(self) -> Answered:
        """Send it and return when it was answered; AttuneError when it fails."""
        match self._sent.kind:
            case "speech":
                await self._hear(self._spoken(), LIVE)
            case kind if kind == FILE:
                await self._hear(self._filed(), AT_REST)
            case kind if kind in {PICTURE, FOLDER_OF_PICTURES}:
                await self._look()
            case _:
                await self._match()
        ended_s = time.monotonic()
        return Answered(
            self._sent.kind, self._sent.live, (self._first_s or ended_s) - self._from_s, ended_s - self._from_s
        )

    def _answer(self) -> None:
        self._first_s = self._first_s or time.monotonic()

    async def _hear(self, inputs: AsyncIterator[SpeechInput], call: Call) -> None:
        async with aclosing(self._served.transcriber(inputs, call)) as events:
            async for event in events:
                # A talk's wait begins with its end, so its last event is its first answer.
                if isinstance(event, Coverage) or (isinstance(event, Committed) and not self._sent.live):
                    self._answer()

    async def _spoken(self) -> AsyncIterator[SpeechInput]:
        yield RecognizeConfig(Encoding.PCM_S16LE, SAMPLE_RATE_HZ)
        length = int(self._sent.size * SAMPLE_RATE_HZ) * SAMPLE_BYTES
        start = self._sent.which * SAMPLE_BYTES * SAMPLE_RATE_HZ % (len(self._material.pcm) - length)
        async with aclosing(paced(self._material.pcm[start : start + length], MediaClock())) as blocks:
            seq = 0
            async for pts_us, block in blocks:
                seq += 1
                yield AudioChunk(seq, pts_us, block)
        self._from_s = time.monotonic()

    async def _filed(self) -> AsyncIterator[SpeechInput]:
        yield RecognizeConfig(Encoding.FILE, partials=False)
        whole = self._material.pcm * (
            1 + int(self._sent.size * SAMPLE_RATE_HZ * SAMPLE_BYTES) // len(self._material.pcm)
        )
        file = clip_wav(whole, int(self._sent.size * 1e6))
        for seq, start in enumerate(range(0, len(file), PIECE_BYTES), 1):
            yield AudioChunk(seq, 0, file[start : start + PIECE_BYTES])

    async def _look(self) -> None:
        call = LIVE if self._sent.live else AT_REST
        async with aclosing(self._served.image_encoder(self._shown(), call)) as frames:
            async for _frame in frames:
                self._answer()

    async def _shown(self) -> AsyncIterator[VisionInput]:
        yield EncodeConfig()
        pictures = self._material.tour.pictures
        for number in range(int(self._sent.size)):
            yield Image(str(number), 0, pictures[(self._sent.which + number) % len(pictures)].data)

    async def _match(self) -> None:
        async with aclosing(self._served.aligner(self._said(), LIVE)) as events:
            async for event in events:
                if event == Marker(PHRASE):
                    self._answer()

    async def _said(self) -> AsyncIterator[AlignInput]:
        yield AlignConfig()
        for frame in self._material.frames:
            yield frame
        phrases = self._material.tour.phrases
        text = phrases[self._sent.which % len(phrases)].text.split()
        yield Words(tuple(SpokenWord(at, word, at * WORD_US, (at + 1) * WORD_US) for at, word in enumerate(text, 1)))
        yield Flush(PHRASE)


async def _prepared(served: Served) -> Material:
    """Return what is sent; the frames come from the services themselves."""
    tour, speech = await asyncio.to_thread(read_tour), await asyncio.to_thread(read_two_cities)
    material = Material(speech.pcm, tour, ())
    whole = Sent(0.0, FOLDER_OF_PICTURES, len(tour.pictures), 0, 0.0)
    shown = Request(served, material, whole)._shown()
    async with aclosing(served.image_encoder(shown, LIVE)) as seen:
        frames = [frame async for frame in seen if isinstance(frame, EncodedFrame)]
    return Material(speech.pcm, tour, tuple(FrameTokens(one.id, 0, one.tokens) for one in frames))
