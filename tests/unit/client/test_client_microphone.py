"""Audio from a microphone that a test plays."""

from contextlib import aclosing
from types import TracebackType
from typing import Any

import pytest

from attune_client.errors import AttuneError
from attune_client.media import MediaClock
from attune_client.microphone import FrameQueue, load_sounddevice, recorded


class FakeStream:
    """Records three frames as soon as it is opened."""

    def __init__(self, callback: Any, **_: Any) -> None:
        self._callback = callback

    def __enter__(self) -> "FakeStream":
        for number in range(3):
            self._callback(bytes([number]) * 1600, 800, None, None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class FakeSounddevice:
    """The part of sounddevice that is used."""

    PortAudioError = RuntimeError
    RawInputStream = FakeStream


class MissingStream(FakeStream):
    """What opening says where there is no microphone."""

    def __init__(self, callback: Any, **_: Any) -> None:
        raise RuntimeError("Error querying device -1")


class NoDevice(FakeSounddevice):
    """sounddevice on a machine without a microphone."""

    RawInputStream = MissingStream


async def test_recorded_frames_come_with_their_time() -> None:
    """Each frame of 50 ms is stamped by how many came before it."""
    clock = MediaClock()
    async with aclosing(recorded(clock, FakeSounddevice)) as frames:
        got = [await anext(frames) for _ in range(3)]
    assert got == [(0, bytes(1600)), (50_000, b"\1" * 1600), (100_000, b"\2" * 1600)]


async def test_a_full_queue_loses_the_oldest_and_keeps_the_times() -> None:
    """The next frame's time shows the gap, so that the server can tell of it."""
    queue = FrameQueue(limit=2)
    for number in range(3):
        queue.put(bytes([number]))
    assert [await queue.get(), await queue.get()] == [(50_000, b"\1"), (100_000, b"\2")]


async def test_no_device_is_an_error_in_one_line() -> None:
    """The sound library's complaint is passed on."""
    with pytest.raises(AttuneError, match="no microphone: Error querying device"):
        await anext(recorded(MediaClock(), NoDevice))


def test_a_missing_library_says_what_to_install() -> None:
    """The extra is named."""
    with pytest.raises(AttuneError, match=r"attune\[microphone\]"):
        load_sounddevice("attune_client.no_such_module")
