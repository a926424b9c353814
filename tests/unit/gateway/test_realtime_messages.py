"""What realtime clients may send."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.realtime.messages import Append, Clear, Commit, Refused, Update, read_event


def test_messages_and_their_ids():
    """Each comes as its own type, with the id that the client gave it."""
    audio = base64.b64encode(b"sound").decode()
    for body, message in (
        ({"type": "input_audio_buffer.append", "audio": audio}, Append(b"sound")),
        ({"type": "input_audio_buffer.commit"}, Commit()),
        ({"type": "input_audio_buffer.clear"}, Clear()),
        ({"type": "session.update", "session": {"type": "transcription"}}, Update({"type": "transcription"}, False)),
        ({"type": "session.update", "session": {"turn_detection": None}}, Update({"turn_detection": None}, True)),
        ({"type": "transcription_session.update", "session": {}}, Update({}, True)),
    ):
        event = read_event(json.dumps(body | {"event_id": "e1"}))
        assert (event.message, event.event_id) == (message, "e1")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"type": "response.create"}, "type"),
        ({}, "type"),
        ({"type": "input_audio_buffer.append"}, "audio"),
        ({"type": "input_audio_buffer.append", "audio": "?"}, "audio"),
        ({"type": "input_audio_buffer.append", "audio": "é"}, "audio"),
        ({"type": "session.update", "session": []}, "session"),
    ],
)
def test_what_is_wrong_is_named(body: dict, param: str):
    """The error knows the field and keeps the id."""
    event = read_event(json.dumps(body | {"event_id": "e1"}))
    assert isinstance(event.message, Refused)
    assert (event.message.error.param, event.event_id) == (param, "e1")


@given(st.one_of(st.text(), st.binary(), st.recursive(st.integers() | st.text(), st.lists).map(json.dumps)))
def test_any_frame_is_borne(frame: str | bytes):
    """Nothing that a client can send is an exception here."""
    assert isinstance(read_event(frame).message, Refused)
