"""The transcriber's inputs and events as protobuf."""

from typing import assert_never

from google.protobuf.message import Message

from attune.v1 import asr_pb2 as pb
from attune.v1 import common_pb2
from services.common.errors import InvalidInput
from services.common.types import (
    AudioChunk,
    Committed,
    Coverage,
    Dropped,
    Encoding,
    Flush,
    Marker,
    Partial,
    Ready,
    RecognizeConfig,
    Settled,
    SpeechEvent,
    SpeechInput,
    SpeechStarted,
    SpeechStopped,
    Token,
    Warned,
    Window,
    Word,
)
from services.common.wire import Codec, member_from_pb
from services.common.wire.shared import timing_from_pb, timing_to_pb


def config_to_pb(config: RecognizeConfig) -> pb.RecognizeConfig:
    """Return the message for a configuration."""
    return pb.RecognizeConfig(
        encoding=config.encoding.value,
        sample_rate_hz=config.sample_rate_hz,
        channels=config.channels,
        language=config.language,
        model=config.model,
        partials=config.partials,
        start_us=config.start_us,
        settled_us=config.settled_us,
        said=map(word_to_pb, config.said),
        prompt=config.prompt,
        temperature=config.temperature,
        details=config.details,
        vad_start=config.vad_start,
        min_silence_ms=config.min_silence_ms,
        continues=config.continues,
    )


def config_from_pb(message: pb.RecognizeConfig) -> RecognizeConfig:
    """Return a configuration; InvalidInput for an encoding that does not exist."""
    return RecognizeConfig(
        encoding=member_from_pb(Encoding, message.encoding, "encoding"),
        sample_rate_hz=message.sample_rate_hz,
        channels=message.channels,
        language=message.language,
        model=message.model,
        partials=message.partials,
        start_us=message.start_us,
        settled_us=message.settled_us,
        said=tuple(map(word_from_pb, message.said)),
        prompt=message.prompt,
        temperature=message.temperature,
        details=message.details,
        vad_start=message.vad_start,
        min_silence_ms=message.min_silence_ms,
        continues=message.continues,
    )


def input_to_pb(item: SpeechInput) -> Message:
    """Return the request that carries one input."""
    match item:
        case RecognizeConfig():
            return pb.RecognizeRequest(config=config_to_pb(item))
        case AudioChunk(seq, pts_us, data):
            return pb.RecognizeRequest(audio=pb.AudioChunk(seq=seq, pts_us=pts_us, data=data))
        case Flush(marker):
            return pb.RecognizeRequest(flush=common_pb2.Marker(marker=marker))
        case _:
            assert_never(item)


def input_from_pb(message: Message) -> SpeechInput:
    """Return the input that a request carries."""
    assert isinstance(message, pb.RecognizeRequest)
    match message.WhichOneof("item"):
        case "config":
            return config_from_pb(message.config)
        case "audio":
            return AudioChunk(message.audio.seq, message.audio.pts_us, message.audio.data)
        case "flush":
            return Flush(message.flush.marker)
        case _:
            raise InvalidInput("a request without an item")


def word_to_pb(word: Word) -> pb.Word:
    """Return the message for a word; confidence becomes float32."""
    return pb.Word(
        text=word.text,
        start_us=word.start_us,
        end_us=word.end_us,
        confidence=word.confidence,
        interpolated=word.interpolated,
        tokens=[pb.Token(id=token.id, text=token.text, logprob=token.logprob) for token in word.tokens],
    )


def word_from_pb(message: pb.Word) -> Word:
    """Return a word."""
    tokens = tuple(Token(token.id, token.text, token.logprob) for token in message.tokens)
    return Word(message.text, message.start_us, message.end_us, message.confidence, message.interpolated, tokens)


def committed_to_pb(committed: Committed) -> pb.Committed:
    """Return the message for committed words."""
    message = pb.Committed(words=map(word_to_pb, committed.words), timing=timing_to_pb(committed.timing))
    if committed.window is not None:
        start_us, no_speech, language = committed.window.start_us, committed.window.no_speech, committed.window.language
        message.window.CopyFrom(pb.Window(start_us=start_us, no_speech=no_speech, language=language))
    return message


def committed_from_pb(message: pb.Committed) -> Committed:
    """Return committed words."""
    window = None
    if message.HasField("window"):
        window = Window(message.window.start_us, message.window.no_speech, message.window.language)
    return Committed(tuple(map(word_from_pb, message.words)), timing_from_pb(message.timing), window)


def coverage_to_pb(coverage: Coverage) -> pb.Coverage:
    """Return the message for a coverage ledger."""
    return pb.Coverage(
        duration_us=coverage.duration_us,
        transcribed_us=coverage.transcribed_us,
        silent_us=coverage.silent_us,
        dropped=[pb.Dropped(start_us=d.start_us, end_us=d.end_us, reason=d.reason) for d in coverage.dropped],
    )


def coverage_from_pb(message: pb.Coverage) -> Coverage:
    """Return a coverage ledger."""
    dropped = tuple(Dropped(d.start_us, d.end_us, d.reason) for d in message.dropped)
    return Coverage(message.duration_us, message.transcribed_us, message.silent_us, dropped)


def settled_to_pb(settled: Settled) -> pb.Settled:
    """Return the message for how far the audio is decided."""
    return pb.Settled(
        until_us=settled.until_us,
        received_us=settled.received_us,
        coverage=coverage_to_pb(settled.coverage),
        resume_us=settled.resume_us,
    )


def settled_from_pb(message: pb.Settled) -> Settled:
    """Return how far the audio is decided."""
    return Settled(message.until_us, message.received_us, message.resume_us, coverage_from_pb(message.coverage))


def output_to_pb(event: SpeechEvent) -> Message:  # one row per event: long, and flat
    """Return the response that carries one event."""
    match event:
        case Ready(model, language, prompt_tokens):
            ready = pb.Ready(model=model, language=language, prompt_tokens=prompt_tokens)
            return pb.RecognizeResponse(ready=ready)
        case SpeechStarted(pts_us):
            return pb.RecognizeResponse(speech_started=pb.SpeechStarted(pts_us=pts_us))
        case SpeechStopped(pts_us):
            return pb.RecognizeResponse(speech_stopped=pb.SpeechStopped(pts_us=pts_us))
        case Partial(words, timing):
            partial = pb.Partial(words=map(word_to_pb, words), timing=timing_to_pb(timing))
            return pb.RecognizeResponse(partial=partial)
        case Committed():
            return pb.RecognizeResponse(committed=committed_to_pb(event))
        case Settled():
            return pb.RecognizeResponse(settled=settled_to_pb(event))
        case Marker(marker):
            return pb.RecognizeResponse(marker=common_pb2.Marker(marker=marker))
        case Warned(code, text):
            return pb.RecognizeResponse(warning=pb.Notice(code=code, message=text))
        case Coverage():
            return pb.RecognizeResponse(coverage=coverage_to_pb(event))
        case _:
            assert_never(event)


def output_from_pb(message: Message) -> SpeechEvent:  # one row per event: long, and flat
    """Return the event that a response carries."""
    assert isinstance(message, pb.RecognizeResponse)
    match message.WhichOneof("event"):
        case "ready":
            return Ready(message.ready.model, message.ready.language, message.ready.prompt_tokens)
        case "speech_started":
            return SpeechStarted(message.speech_started.pts_us)
        case "speech_stopped":
            return SpeechStopped(message.speech_stopped.pts_us)
        case "partial":
            return Partial(tuple(map(word_from_pb, message.partial.words)), timing_from_pb(message.partial.timing))
        case "committed":
            return committed_from_pb(message.committed)
        case "settled":
            return settled_from_pb(message.settled)
        case "marker":
            return Marker(message.marker.marker)
        case "warning":
            return Warned(message.warning.code, message.warning.message)
        case "coverage":
            return coverage_from_pb(message.coverage)
        case _:
            raise InvalidInput("a response without an event")


CODEC: Codec[SpeechInput, SpeechEvent] = Codec(input_to_pb, input_from_pb, output_to_pb, output_from_pb)
