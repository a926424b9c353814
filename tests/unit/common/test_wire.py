"""Everything that crosses the wire comes back equal."""

import dataclasses
import struct
import types
import typing
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attune.v1 import aligner_pb2, asr_pb2, common_pb2, vision_pb2
from services.common import types as values
from services.common.errors import InvalidInput
from services.common.wire import aligner, asr, vision
from services.common.wire.shared import tokens_from_pb

U64 = st.integers(0, 2**63)
TEXT = st.text(max_size=20)
FLOAT32 = st.floats(0, 1, width=32)


def strategy(annotation: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for a field's type, floats as float32 keeps them."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        return st.one_of(*(st.none() if a is type(None) else strategy(a) for a in arguments))
    if origin is tuple:
        return st.lists(strategy(arguments[0]), max_size=3).map(tuple)
    if annotation is values.RegionTokens:
        return st.builds(tokens, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
    if dataclasses.is_dataclass(annotation):
        hints = typing.get_type_hints(annotation)
        return st.builds(
            annotation, **{f.name: field_strategy(f.name, hints[f.name]) for f in dataclasses.fields(annotation)}
        )
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(list(annotation))
    simple = {str: TEXT, float: FLOAT32, bool: st.booleans(), bytes: st.binary(max_size=20), int: U64}
    return simple[annotation]


def field_strategy(name: str, annotation: Any) -> st.SearchStrategy[Any]:
    """Return a field's strategy; some hold 32 bits, and None is an empty id on the wire."""
    if name in {
        "seq",
        "sample_rate_hz",
        "channels",
        "width",
        "height",
        "orientation",
        "revision",
        "prompt_tokens",
        "min_silence_ms",
    }:
        return st.integers(0, 2**32 - 1)
    if name == "frame_id":
        return st.none() | st.text(min_size=1, max_size=9)
    return strategy(annotation)


def tokens(rows: int, cols: int, dim: int) -> values.RegionTokens:
    """Return tokens whose bytes fit their grid."""
    return values.RegionTokens(
        "s", rows, cols, dim, struct.pack(f"<{rows * cols * dim}e", *[0.5] * rows * cols * dim), b"\0" * 2 * dim
    )


@given(strategy(values.SpeechInput))
def test_speech_inputs(item: values.SpeechInput):
    """A transcriber's inputs survive the wire."""
    assert asr.input_from_pb(round_trip(asr.input_to_pb(item))) == item


@given(strategy(values.SpeechEvent))
def test_speech_events(event: values.SpeechEvent):
    """A transcriber's events survive the wire."""
    assert asr.output_from_pb(round_trip(asr.output_to_pb(event))) == event


@given(strategy(values.VisionInput))
def test_vision_inputs(item: values.VisionInput):
    """An image encoder's inputs survive the wire."""
    assert vision.input_from_pb(round_trip(vision.input_to_pb(item))) == item


@given(strategy(values.VisionEvent))
def test_vision_events(event: values.VisionEvent):
    """An image encoder's events survive the wire."""
    assert vision.output_from_pb(round_trip(vision.output_to_pb(event))) == event


@given(strategy(values.AlignInput))
def test_align_inputs(item: values.AlignInput):
    """An aligner's inputs survive the wire."""
    assert aligner.input_from_pb(round_trip(aligner.input_to_pb(item))) == item


@given(strategy(values.AlignEvent))
def test_align_events(event: values.AlignEvent):
    """An aligner's events survive the wire."""
    assert aligner.output_from_pb(round_trip(aligner.output_to_pb(event))) == event


def round_trip(message: Any) -> Any:
    """Return the message as it arrives."""
    return type(message).FromString(message.SerializeToString())


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (asr.input_from_pb, asr_pb2.RecognizeRequest()),
        (asr.output_from_pb, asr_pb2.RecognizeResponse()),
        (asr.input_from_pb, asr_pb2.RecognizeRequest(config=asr_pb2.RecognizeConfig(encoding="mp9"))),
        (vision.input_from_pb, vision_pb2.EncodeRequest()),
        (vision.output_from_pb, vision_pb2.EncodeResponse()),
        (aligner.input_from_pb, aligner_pb2.AlignRequest()),
        (aligner.output_from_pb, aligner_pb2.AlignResponse()),
        (aligner.output_from_pb, aligner_pb2.AlignResponse(alignment=aligner_pb2.Alignment(relation="beside"))),
        (tokens_from_pb, common_pb2.RegionTokens(rows=2, cols=2, dim=3, cells=b"short", pooled=b"xxxxxx")),
        (tokens_from_pb, common_pb2.RegionTokens()),
    ],
)
def test_messages_that_cannot_be_read_are_invalid(read: Any, message: Any):
    """An empty message, an unknown member or bytes that fit no grid are InvalidInput, not a crash."""
    with pytest.raises(InvalidInput):
        read(message)
