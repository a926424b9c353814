"""The aligner's inputs and events as protobuf."""

from typing import assert_never

from google.protobuf.message import Message

from attune.v1 import aligner_pb2 as pb
from attune.v1 import common_pb2
from services.common.errors import InvalidInput
from services.common.types import (
    AlignConfig,
    AlignEvent,
    AlignInput,
    Alignment,
    Flush,
    FrameTokens,
    Marker,
    Progress,
    RegionTokens,
    Relation,
    Score,
    ScoredRegion,
    SpokenWord,
    Words,
)
from services.common.wire import Codec, member_from_pb
from services.common.wire.shared import (
    box_from_pb,
    box_to_pb,
    handle_from_pb,
    handle_to_pb,
    timing_from_pb,
    timing_to_pb,
    tokens_from_pb,
    tokens_to_pb,
)


def frame_to_pb(frame: FrameTokens) -> pb.FrameTokens:
    """Return the message for a frame's tokens."""
    message = pb.FrameTokens(id=frame.id, pts_us=frame.pts_us)
    if isinstance(frame.tokens, RegionTokens):
        message.inline.CopyFrom(tokens_to_pb(frame.tokens))
    else:
        message.handle.CopyFrom(handle_to_pb(frame.tokens))
    return message


def frame_from_pb(message: pb.FrameTokens) -> FrameTokens:
    """Return a frame's tokens."""
    inline = message.WhichOneof("tokens") != "handle"
    tokens = tokens_from_pb(message.inline) if inline else handle_from_pb(message.handle)
    return FrameTokens(message.id, message.pts_us, tokens)


def word_to_pb(word: SpokenWord) -> pb.SpokenWord:
    """Return the message for a numbered word."""
    return pb.SpokenWord(id=word.id, text=word.text, start_us=word.start_us, end_us=word.end_us)


def word_from_pb(message: pb.SpokenWord) -> SpokenWord:
    """Return a numbered word."""
    return SpokenWord(message.id, message.text, message.start_us, message.end_us)


def input_to_pb(item: AlignInput) -> Message:
    """Return the request that carries one input."""
    match item:
        case AlignConfig(model):
            return pb.AlignRequest(config=pb.AlignConfig(model=model))
        case FrameTokens():
            return pb.AlignRequest(frame=frame_to_pb(item))
        case Words(words):
            return pb.AlignRequest(words=pb.Words(words=map(word_to_pb, words)))
        case Progress(until_us):
            return pb.AlignRequest(progress=pb.Progress(until_us=until_us))
        case Flush(marker):
            return pb.AlignRequest(flush=common_pb2.Marker(marker=marker))
        case _:
            assert_never(item)


def input_from_pb(message: Message) -> AlignInput:
    """Return the input that a request carries."""
    assert isinstance(message, pb.AlignRequest)
    match message.WhichOneof("item"):
        case "config":
            return AlignConfig(message.config.model)
        case "frame":
            return frame_from_pb(message.frame)
        case "words":
            return Words(tuple(map(word_from_pb, message.words.words)))
        case "progress":
            return Progress(message.progress.until_us)
        case "flush":
            return Flush(message.flush.marker)
        case _:
            raise InvalidInput("a request without an item")


def alignment_to_pb(alignment: Alignment) -> pb.Alignment:
    """Return the message for an alignment; scores become float32."""
    score = alignment.score
    return pb.Alignment(
        word_ids=alignment.word_ids,
        text=alignment.text,
        frame_id=alignment.frame_id or "",
        relation=alignment.relation.value,
        age_us=alignment.age_us,
        regions=[pb.ScoredRegion(box=box_to_pb(r.box), score=r.score) for r in alignment.regions],
        score=pb.Score(temporal=score.temporal, semantic=score.semantic, combined=score.combined),
        revision=alignment.revision,
        final=alignment.final,
        timing=timing_to_pb(alignment.timing),
    )


def alignment_from_pb(message: pb.Alignment) -> Alignment:
    """Return an alignment; InvalidInput for a relation that does not exist."""
    return Alignment(
        word_ids=tuple(message.word_ids),
        text=message.text,
        frame_id=message.frame_id or None,
        relation=member_from_pb(Relation, message.relation, "relation"),
        age_us=message.age_us,
        regions=tuple(ScoredRegion(box_from_pb(r.box), r.score) for r in message.regions),
        score=Score(message.score.temporal, message.score.semantic, message.score.combined),
        revision=message.revision,
        final=message.final,
        timing=timing_from_pb(message.timing),
    )


def output_to_pb(event: AlignEvent) -> Message:
    """Return the response that carries one event."""
    match event:
        case Alignment():
            return pb.AlignResponse(alignment=alignment_to_pb(event))
        case Marker(marker):
            return pb.AlignResponse(marker=common_pb2.Marker(marker=marker))
        case _:
            assert_never(event)


def output_from_pb(message: Message) -> AlignEvent:
    """Return the event that a response carries."""
    assert isinstance(message, pb.AlignResponse)
    match message.WhichOneof("event"):
        case "alignment":
            return alignment_from_pb(message.alignment)
        case "marker":
            return Marker(message.marker.marker)
        case _:
            raise InvalidInput("a response without an event")


CODEC: Codec[AlignInput, AlignEvent] = Codec(input_to_pb, input_from_pb, output_to_pb, output_from_pb)
