"""Server events as dataclasses."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attune_client import events as ev
from attune_client.errors import AttuneError

WORD = {"id": 1, "text": "cat", "start_us": 0, "end_us": 5, "confidence": 1}
LABEL = {"text": "tabby", "score": 0.5}

SCORE = {"temporal": 0, "semantic": 0, "combined": 0}
DROPPED = {"start_us": 0, "end_us": 1, "reason": "gap"}
CAT = ev.Word("cat", 0, 5, 1.0, 1)
TABBY = ev.Label("tabby", 0.5)

CASES: list[tuple[str, dict[str, Any], ev.Event]] = [
    (
        "session.ready",
        {"session_id": "s", "token": "t", "models": {}, "limits": {}, "version": "1", "resumed": False},
        ev.SessionReady("s", "t", {}, {}, "1"),
    ),
    ("speech.started", {"pts_us": 3}, ev.SpeechStarted(3)),
    ("speech.stopped", {"pts_us": 4}, ev.SpeechStopped(4)),
    ("transcript.partial", {"text": "cat", "words": [WORD]}, ev.Partial("cat", (CAT,))),
    ("transcript.committed", {"words": [WORD]}, ev.Committed((CAT,))),
    (
        "frame",
        {
            "id": "f",
            "pts_us": 0,
            "status": "seen",
            "labels": [LABEL],
            "regions": [{"box": [0, 0, 0.5, 1], "labels": [LABEL]}],
            "input": {"width": 2},
        },
        ev.Frame(
            "f", 0, "seen", labels=(TABBY,), regions=(ev.Region((0.0, 0.0, 0.5, 1.0), (TABBY,)),), input={"width": 2}
        ),
    ),
    (
        "frame",
        {"id": "f", "pts_us": 0, "status": "dropped", "reason": "busy"},
        ev.Frame("f", 0, "dropped", "busy"),
    ),
    (
        "alignment",
        {
            "word_ids": [1],
            "text": "cat",
            "frame_id": None,
            "relation": "none",
            "age_us": 0,
            "regions": [],
            "score": SCORE,
            "revision": 2,
            "final": False,
        },
        ev.Alignment((1,), None, "none", ev.Score(0.0, 0.0, 0.0), "cat", revision=2, final=False),
    ),
    ("ack", {"audio_seq": 3, "image_seq": 1}, ev.Ack(3, 1)),
    ("flow", {"lag_us": 3, "window_us": 1}, ev.Flow(3, 1)),
    ("degraded", {"stage": "vision", "level": "lost", "reason": "gone"}, ev.Degraded("vision", "lost", "gone")),
    ("recovered", {"stage": "vision", "level": "full", "reason": "back"}, ev.Recovered("vision", "full", "back")),
    ("marker", {"marker": "m"}, ev.Marker("m")),
    ("going_away", {"in_ms": 5, "token": "t"}, ev.GoingAway(5, "t")),
    ("generation.delta", {"text": "a"}, ev.GenerationDelta("a")),
    ("generation.done", {"text": "ab"}, ev.GenerationDone("ab")),
    ("warning", {"code": "clipped", "message": "m"}, ev.Warned("clipped", "m")),
    (
        "error",
        {"code": "too_large", "message": "m", "param": "data", "retryable": False, "fatal": False},
        ev.Failed("too_large", "m", "data"),
    ),
    (
        "session.ended",
        {"coverage": {"transcribed_us": 1, "silent_us": 2, "dropped": [DROPPED]}, "usage": {"words": 1}},
        ev.SessionEnded(ev.Coverage(1, 2, (ev.Dropped(0, 1, "gap"),)), {"words": 1}),
    ),
]


@pytest.mark.parametrize(("name", "raw", "event"), CASES)
def test_each_event_of_the_protocol_has_its_type(name: str, raw: dict[str, Any], event: ev.Event) -> None:
    """Fields arrive as they were sent, nested ones as dataclasses."""
    assert ev.event_from_json(json.dumps(raw | {"type": name})) == event


@pytest.mark.parametrize("raw", [raw | {"type": name} for name, raw, _ in CASES])
def test_fields_of_a_newer_server_are_left_aside(raw: dict[str, Any]) -> None:
    """A field nobody knows changes nothing, and every event keeps its number."""
    known = ev.event_from_json(json.dumps(raw | {"event_no": 9}))
    assert ev.event_from_json(json.dumps(raw | {"event_no": 9, "brand_new": [1]})) == known
    assert known.event_no == 9


def test_an_event_of_a_newer_server_is_unknown() -> None:
    """It arrives with its type, its number and all it said."""
    raw = {"type": "speaker.changed", "event_no": 4, "who": "b"}
    assert ev.event_from_json(json.dumps(raw)) == ev.Unknown("speaker.changed", raw, event_no=4)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"type": "marker"}, "Marker.marker is missing"),
        ({"type": "ack", "audio_seq": "3"}, "Ack.audio_seq is not int"),
        ({"type": "ack", "audio_seq": True}, "Ack.audio_seq is not int"),
        ({"type": "transcript.committed", "words": [{"text": 1}]}, r"Committed.words\[0\].text is not str"),
        ({"type": "frame", "id": "f", "pts_us": 0, "status": "seen", "regions": [{"box": [0, 1]}]}, "2 values, not 4"),
        ({"no": "type"}, "type"),
        ([], "list"),
    ],
)
def test_an_event_that_is_not_what_its_type_says_is_an_error(raw: object, problem: str) -> None:
    """The error names the field."""
    with pytest.raises(AttuneError, match=problem) as caught:
        ev.event_from_json(json.dumps(raw))
    assert caught.value.code == "bad_answer"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@settings(deadline=None)
@given(st.sampled_from([raw | {"type": name} for name, raw, _ in CASES]), st.data())
def test_no_message_raises_anything_but_an_attune_error(raw: dict[str, Any], data: st.DataObject) -> None:
    """Whatever a field is replaced by, the reader gets an event or an AttuneError."""
    field = data.draw(st.sampled_from(sorted(raw)))
    with contextlib.suppress(AttuneError):
        ev.event_from_json(json.dumps(raw | {field: data.draw(JSON)}))
