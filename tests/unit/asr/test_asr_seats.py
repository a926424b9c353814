"""Seats come back, however a call ends."""

import asyncio
from contextlib import aclosing, suppress

import pytest

from services.asr import configuration
from services.asr.admission import Admission
from services.asr.models.fake import FakeTranscriber
from services.asr.seats import Seats, rules_of
from services.asr.settings import AsrSettings
from services.common.errors import Idle, InvalidInput, Overloaded
from services.common.metrics import TRANSCRIPTIONS
from services.common.ports import Call
from services.common.types import AudioChunk, Encoding, Ready, RecognizeConfig

LIVE = RecognizeConfig(Encoding.PCM_S16LE, 16_000)
ONE = AsrSettings(model="fake", max_sessions=1, max_files=1)


async def silent():
    """Yield a configuration, then wait for ever."""
    yield LIVE
    await asyncio.Event().wait()


async def broken():
    """Yield a configuration and then another one, which is an error."""
    yield LIVE
    yield AudioChunk(1, 0, b"")
    yield LIVE


def test_a_seat_comes_back_after_an_error():
    """Whatever ends the body, the seat is free and the gauge is where it was."""
    seats = Seats(Admission(rules_of(ONE)), lambda: 0.0)
    before = TRANSCRIPTIONS.labels("live")._value.get()
    for _ in range(3):
        with suppress(ZeroDivisionError), seats.taken(LIVE):
            assert seats.admission.live == 1
            with pytest.raises(Overloaded), seats.taken(LIVE):
                pass
            raise ZeroDivisionError
    assert seats.admission.live == 0
    assert TRANSCRIPTIONS.labels("live")._value.get() == before


async def test_calls_that_fail_and_calls_that_leave_free_their_seat():
    """A caller that leaves in the middle and one that breaks the contract both make room for the next."""
    port = FakeTranscriber(ONE)
    for _ in range(2):
        async with aclosing(port(silent(), Call())) as events:
            assert await anext(events) == Ready("fake", "en")
            with pytest.raises(Overloaded):
                await anext(port(silent(), Call()))
        with pytest.raises(InvalidInput):
            async for _ in port(broken(), Call()):
                pass


async def test_a_call_that_never_starts_is_ended(monkeypatch: pytest.MonkeyPatch):
    """A stream without a configuration is over before long."""
    monkeypatch.setattr(configuration, "FIRST_WITHIN_S", 0.0)

    async def nothing():
        await asyncio.Event().wait()
        yield LIVE

    with pytest.raises(Idle):
        await anext(FakeTranscriber(ONE)(nothing(), Call()))
