"""The official SDK transcribes live: both shapes, every format, turns by the server and by the client, errors."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from bench.measure import word_error_rate
from tests.conformance.openai.conftest import FAKES, ROOM, client_of
from tests.conformance.openai.recordings import BECKETT, beckett, tone_wav
from tests.running import Running, running_stack

TRANSCRIPTION = "conversation.item.input_audio_transcription"
INTENT = {"intent": "transcription"}
SECOND = 48_000  # bytes of audio/pcm
# Of one turn, in this order; deltas come in between.
TURN = [
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "conversation.item.added",
    f"{TRANSCRIPTION}.completed",
    "conversation.item.done",
]


class Conversation:
    """A session over the SDK's connection, and all that the server has said in it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.events: list[Any] = []

    async def set(self, **input_: Any) -> Any:
        """Change the session in the GA shape and return what is in force, or the error."""
        await self.connection.session.update(session={"type": "transcription", "audio": {"input": input_}})
        return await self.until(lambda event: event.type in {"session.updated", "error"})

    async def say(self, audio: bytes) -> None:
        """Append audio, a fifth of a second at a time."""
        for begin in range(0, len(audio), SECOND // 5):
            piece = base64.b64encode(audio[begin : begin + SECOND // 5]).decode()
            await self.connection.input_audio_buffer.append(audio=piece)

    async def until(self, wanted: Callable[[Any], bool] | str) -> Any:
        """Read events up to the first that is wanted, by its type or otherwise, and return it."""
        while True:
            event = await self.connection.recv()
            self.events.append(event)
            if event.type == wanted if isinstance(wanted, str) else wanted(event):
                return event

    def of(self, kind: str) -> list[Any]:
        """Return the events of a type so far."""
        return [event for event in self.events if event.type == kind]

    def text(self) -> str:
        """Return all that was transcribed so far."""
        return " ".join(event.transcript for event in self.of(f"{TRANSCRIPTION}.completed")).strip()


@asynccontextmanager
async def conversing(client: openai.AsyncOpenAI) -> AsyncIterator[Conversation]:
    """Connect, and read what the server says first."""
    async with client.realtime.connect(extra_query=INTENT) as connection:
        conversation = Conversation(connection)
        first = await conversation.until(lambda _: True)
        assert first.type == "session.created"
        yield conversation


async def test_the_server_finds_the_turns(client: openai.AsyncOpenAI):
    """Each phrase is an item: started, stopped, committed, added, completed, done, in a chain; deltas make its text."""
    async with conversing(client) as talk:
        await talk.say(beckett("audio/pcm") + bytes(2 * SECOND))
        while "etter" not in talk.text():
            await talk.until("conversation.item.done")
    assert word_error_rate(BECKETT, talk.text()) <= 0.1
    ids = [event.item_id for event in talk.of("input_audio_buffer.committed")]
    assert len(ids) == len(set(ids)) >= 4
    assert [event.previous_item_id for event in talk.of("input_audio_buffer.committed")] == [None, *ids[:-1]]
    assert [event.previous_item_id for event in talk.of("conversation.item.done")] == [None, *ids[:-1]]
    for item_id in ids:
        own = [event for event in talk.events if item_id in (getattr(event, "item_id", None), _item_id(event))]
        assert [event.type for event in own if not event.type.endswith(".delta")] == TURN
        deltas = [event for event in own if event.type.endswith(".delta")]
        (completed,) = [event for event in own if event.type.endswith(".completed")]
        assert "".join(event.delta for event in deltas) == completed.transcript
        assert [word for event in deltas for word in event.words] == completed.words
        assert " ".join(word["word"] for word in completed.words) == completed.transcript
        started, stopped = own[0].audio_start_ms / 1000, own[-5].audio_end_ms / 1000
        assert all(started - 0.1 <= word["start"] <= word["end"] <= stopped + 0.1 for word in completed.words)
        assert completed.usage.type == "duration"
        assert own[-1].item.content[0].transcript == completed.transcript
    event_ids = [event.event_id for event in talk.events]
    assert len(set(event_ids)) == len(event_ids)


def _item_id(event: Any) -> str | None:
    item = getattr(event, "item", None)
    return item.id if item else None


@pytest.mark.parametrize("kind", ["audio/pcm", "audio/pcmu", "audio/pcma"])
async def test_the_client_ends_the_turns(client: openai.AsyncOpenAI, kind: str):
    """Without turn detection nothing is told before a commit; then one item has all of it, in every format."""
    audio = beckett(kind)
    async with conversing(client) as talk:
        updated = await talk.set(format={"type": kind}, turn_detection=None)
        assert updated.session.audio.input.format.type == kind
        assert updated.session.audio.input.turn_detection is None
        await talk.say(audio)
        await talk.connection.input_audio_buffer.commit()
        done = await talk.until("conversation.item.done")
        await talk.say(audio)
        await talk.connection.input_audio_buffer.commit()
        again = await talk.until("conversation.item.done")
    assert (done.previous_item_id, again.previous_item_id) == (None, done.item.id)
    assert [event for event in talk.events if "speech" in event.type] == []
    for completed in talk.of(f"{TRANSCRIPTION}.completed"):
        assert word_error_rate(BECKETT, completed.transcript) <= 0.1
        assert abs(completed.usage.seconds - 9.96) < 0.1
    first = [event for event in talk.events if not event.type.startswith("session.")][:2]
    assert [event.type for event in first] == ["input_audio_buffer.committed", "conversation.item.added"]


async def test_a_cut_buffer_is_two_items(client: openai.AsyncOpenAI):
    """Words before the commit are the first item's, words after it the second's, none is lost or doubled."""
    audio = beckett("audio/pcm")
    cut = 6 * SECOND  # a pause
    async with conversing(client) as talk:
        await talk.set(turn_detection=None)
        for part in (audio[:cut], audio[cut:]):
            await talk.say(part)
            await talk.connection.input_audio_buffer.commit()
        await talk.until("conversation.item.done")
        await talk.until("conversation.item.done")
    first, second = (event.transcript for event in talk.of(f"{TRANSCRIPTION}.completed"))
    assert word_error_rate("Ever tried. Ever failed. No matter. Try again.", first) <= 0.15
    assert word_error_rate("Fail again. Fail better.", second) <= 0.1


async def test_a_cleared_buffer_is_forgotten(client: openai.AsyncOpenAI):
    """What is cleared is in no item, with and without turn detection."""
    audio = beckett("audio/pcm")
    for detection in (None, {"type": "server_vad"}):
        async with conversing(client) as talk:
            await talk.set(turn_detection=detection)
            await talk.say(audio[: 2 * SECOND])  # in the middle of a phrase
            await talk.connection.input_audio_buffer.clear()
            await talk.say(audio[6 * SECOND :])
            await talk.connection.input_audio_buffer.commit()
            while "etter" not in talk.text():
                await talk.until("conversation.item.done")
            assert len(talk.of("input_audio_buffer.cleared")) == 1
            assert "ried" not in talk.text()
            assert word_error_rate("Fail again. Fail better.", talk.text()) <= 0.1


async def test_a_commit_of_next_to_nothing(client: openai.AsyncOpenAI):
    """Under 100 ms it is an error with OpenAI's code and the client's event id; the session goes on."""
    async with conversing(client) as talk:
        for audio in (b"", bytes(SECOND // 11)):
            await talk.connection.send(
                {"type": "input_audio_buffer.append", "audio": base64.b64encode(audio).decode(), "event_id": "mine0"}
            )
            await talk.connection.send({"type": "input_audio_buffer.commit", "event_id": "mine1"})
            error = (await talk.until("error")).error
            assert (error.code, error.event_id) == ("input_audio_buffer_commit_empty", "mine1")
            assert error.type == "invalid_request_error"
        await talk.say(bytes(SECOND))
        await talk.connection.input_audio_buffer.commit()
        silent = await talk.until("conversation.item.done")
    assert silent.item.content[0].transcript == ""


BAD_UPDATES = [
    ({"transcription": {"model": "gpt-4o-transcribe"}}, "model", "model_not_found"),
    ({"transcription": {"language": "de"}}, "session.audio.input.transcription.language", "invalid_input"),
    ({"format": {"type": "audio/mp3"}}, "session.audio.input.format.type", "invalid_input"),
    ({"format": {"type": "audio/pcm", "rate": 44_100}}, "session.audio.input.format.rate", "invalid_input"),
    ({"turn_detection": {"type": "semantic_vad"}}, "session.audio.input.turn_detection.type", "invalid_input"),
    (
        {"turn_detection": {"type": "server_vad", "threshold": 7}},
        "session.audio.input.turn_detection.threshold",
        "invalid_input",
    ),
]


@pytest.mark.parametrize(("input_", "param", "code"), BAD_UPDATES)
async def test_an_update_that_cannot_be_changes_nothing(
    client: openai.AsyncOpenAI, input_: dict, param: str, code: str
):
    """The error names the field, the options from before stay, and speech is heard."""
    async with conversing(client) as talk:
        await talk.set(turn_detection=None)
        error = (await talk.set(**input_)).error
        assert (error.param, error.code) == (param, code)
        await talk.say(beckett("audio/pcm")[: 3 * SECOND])
        await talk.connection.input_audio_buffer.commit()
        await talk.until("conversation.item.done")
    assert "ever failed" in talk.text().lower()


async def test_what_makes_no_sense_is_an_error_and_the_session_goes_on(client: openai.AsyncOpenAI):
    """Requests of conversations, other sessions, wrong base64 and text that is no JSON are told one by one."""
    async with conversing(client) as talk:
        await talk.connection.response.create()
        assert (await talk.until("error")).error.param == "type"
        await talk.connection.session.update(session={"type": "realtime", "instructions": "sing"})
        assert (await talk.until("error")).error.param == "session.type"
        await talk.connection.input_audio_buffer.append(audio="no base64!")
        assert (await talk.until("error")).error.param == "audio"
        await talk.connection._connection.send("no json")
        assert "not JSON" in (await talk.until("error")).error.message
        await talk.connection._connection.send("[]")
        assert (await talk.until("error")).error.type == "invalid_request_error"
        await talk.say(beckett("audio/pcm"))
        await talk.until("conversation.item.done")


async def test_options_in_force_are_shown(client: openai.AsyncOpenAI):
    """An update says what holds now, defaults and what is fixed included; log probabilities come when asked for."""
    async with conversing(client) as talk:
        assert talk.events[0].session.audio.input.turn_detection.type == "server_vad"
        assert talk.events[0].session.audio.input.transcription.model == "tiny.en"
        await talk.connection.session.update(
            session={
                "type": "transcription",
                "audio": {
                    "input": {
                        "format": {"type": "audio/pcm", "rate": 24_000},
                        "noise_reduction": {"type": "near_field"},
                        "transcription": {"model": "whisper-1", "language": "en", "prompt": "BECKETT. " * 300},
                        "turn_detection": {
                            "type": "server_vad",
                            "threshold": 0.6,
                            "prefix_padding_ms": 300,
                            "silence_duration_ms": 300,
                        },
                    }
                },
                "include": [f"{TRANSCRIPTION.removeprefix('conversation.')}.logprobs"],
            }
        )
        session = (await talk.until("session.updated")).session
        told = session.audio.input
        assert (told.transcription.model, told.transcription.language) == ("whisper-1", "en")
        assert (told.noise_reduction, told.turn_detection.prefix_padding_ms) == (None, 250)
        assert (told.turn_detection.threshold, told.turn_detection.silence_duration_ms) == (0.6, 300)
        assert session.warnings[0]["code"] == "prompt_truncated"
        await talk.say(beckett("audio/pcm"))
        completed = await talk.until(f"{TRANSCRIPTION}.completed")
    assert bytes(byte for token in completed.logprobs for byte in token.bytes).decode().strip() == completed.transcript


async def test_the_older_shape(client: openai.AsyncOpenAI):
    """The beta client sets its flat session, and gets `created` where the other gets `added` and `done`."""
    async with client.beta.realtime.connect(model="whisper-1", extra_query=INTENT) as connection:
        talk = Conversation(connection)
        assert (await talk.until(lambda _: True)).type == "session.created"
        options = {
            "input_audio_format": "g711_ulaw",
            "input_audio_transcription": {"model": "whisper-1", "prompt": ""},
            "turn_detection": {"type": "server_vad", "silence_duration_ms": 600},
        }
        await connection.transcription_session.update(session=options)
        session = (await talk.until("transcription_session.updated")).session
        assert (session.input_audio_format, session.turn_detection.silence_duration_ms) == ("g711_ulaw", 600)
        assert session.input_audio_transcription.model == "whisper-1"
        await talk.say(beckett("audio/pcmu"))
        completed = await talk.until(f"{TRANSCRIPTION}.completed")
        created = talk.of("conversation.item.created")[0]
        assert created.item.id == completed.item_id == talk.of("input_audio_buffer.committed")[0].item_id
        assert talk.of("conversation.item.added") == []
        await connection.transcription_session.update(session={"input_audio_format": "flac"})
        assert (await talk.until("error")).error.param == "session.audio.input.format.type"


# The SDK calls websockets in a way that version 17 frowns on.
@pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")
def test_the_sync_client(speech: Running):
    """So does the client without asyncio."""
    ws = speech.url.replace("http", "ws")
    with (
        openai.OpenAI(base_url=f"{speech.url}/v1", websocket_base_url=f"{ws}/v1", api_key="any") as client,
        client.realtime.connect(extra_query=INTENT) as connection,
    ):
        assert connection.recv().type == "session.created"
        connection.session.update(session={"type": "transcription", "audio": {"input": {"turn_detection": None}}})
        connection.input_audio_buffer.append(audio=base64.b64encode(beckett("audio/pcm")).decode())
        connection.input_audio_buffer.commit()
        for event in connection:
            if event.type == f"{TRANSCRIPTION}.completed":
                break
        assert word_error_rate(BECKETT, event.transcript) <= 0.1


async def test_browsers_connect_with_subprotocols(speech: Running):
    """A key in a subprotocol is taken, and `realtime` is answered; a page of another origin is refused."""
    address = speech.url.replace("http", "ws") + "/v1/realtime?intent=transcription"
    offered = ["realtime", "openai-insecure-api-key.sk-any", "openai-beta.realtime-v1"]
    async with connect(address, subprotocols=offered, origin=speech.url) as socket:
        assert socket.subprotocol == "realtime"
        session = json.loads(await socket.recv())["session"]
        assert session["input_audio_format"] == "pcm16"
    async with connect(address, origin="https://elsewhere.example") as socket:
        assert json.loads(await socket.recv())["error"]["code"] == "forbidden"
        await socket.wait_closed()
        assert socket.close_code == 4403


async def test_sessions_that_cannot_be_are_told_why(client: openai.AsyncOpenAI):
    """Another intent or an unknown model is an error, then the end."""
    for query, code in (({"intent": "conversation"}, "invalid_input"), ({"model": "gpt-realtime"}, "model_not_found")):
        async with client.realtime.connect(extra_query=query) as connection:
            event = await connection.recv()
            assert (event.type, event.error.code) == ("error", code)


async def test_clients_that_leave_free_the_recogniser(client: openai.AsyncOpenAI):
    """Many connect, speak and vanish; there is room for the next, and never for one more than that."""
    for _ in range(3 * ROOM):
        async with conversing(client) as talk:
            await talk.say(beckett("audio/pcm")[: 2 * SECOND])
    async with _room_for(client), _room_for(client), client.realtime.connect(extra_query=INTENT) as connection:
        event = await connection.recv()
        assert (event.type, event.error.code, event.error.type) == ("error", "overloaded", "rate_limit_error")


@asynccontextmanager
async def _room_for(client: openai.AsyncOpenAI) -> AsyncIterator[None]:
    """Hold a session, once the one before it is gone for good."""
    async with asyncio.timeout(10):
        while True:
            async with client.realtime.connect(extra_query=INTENT) as connection:
                if (await connection.recv()).type == "session.created":
                    yield
                    return
            await asyncio.sleep(0.1)


async def test_a_lost_recogniser_loses_no_word(speech: Running):
    """Killed in mid-speech it comes back, and the item has every word once."""
    async with client_of(speech) as client, conversing(client) as talk:
        await talk.set(turn_detection=None)
        audio = beckett("audio/pcm")
        await talk.say(audio[: 4 * SECOND])
        await asyncio.sleep(1)
        speech.child("asr").kill()
        await talk.say(audio[4 * SECOND :])
        await talk.connection.input_audio_buffer.commit()
        await talk.until("conversation.item.done")
    assert word_error_rate(BECKETT, talk.text()) <= 0.1


async def test_a_server_that_goes_away_says_everything(tmp_path: Path):
    """SIGTERM in mid-speech: the item is completed, then the socket closes with 1012."""
    with running_stack(tmp_path, {**os.environ, **FAKES, "ATTUNE_ASR_MODEL": "fake"}) as running:
        async with client_of(running) as client, conversing(client) as talk:
            await talk.say(tone_wav(2.0)[44:])  # of 24 kHz, as it says: a second and a third
            await talk.until(f"{TRANSCRIPTION}.delta")
            running.process.terminate()
            completed = await talk.until(f"{TRANSCRIPTION}.completed")
            with pytest.raises(ConnectionClosed) as caught:
                await talk.until("nothing")
    assert completed.transcript == "w0 w1 w2"
    assert caught.value.rcvd.code == 1012


async def test_silent_clients_are_timed_out(small_client: openai.AsyncOpenAI):
    """A client that says nothing for too long is told, and its session ends."""
    async with conversing(small_client) as talk:
        assert (await talk.until("error")).error.code == "idle"
