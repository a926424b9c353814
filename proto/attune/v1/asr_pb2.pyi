from attune.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RecognizeRequest(_message.Message):
    __slots__ = ("config", "audio", "flush")
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    AUDIO_FIELD_NUMBER: _ClassVar[int]
    FLUSH_FIELD_NUMBER: _ClassVar[int]
    config: RecognizeConfig
    audio: AudioChunk
    flush: _common_pb2.Marker
    def __init__(self, config: _Optional[_Union[RecognizeConfig, _Mapping]] = ..., audio: _Optional[_Union[AudioChunk, _Mapping]] = ..., flush: _Optional[_Union[_common_pb2.Marker, _Mapping]] = ...) -> None: ...

class RecognizeConfig(_message.Message):
    __slots__ = ("encoding", "sample_rate_hz", "channels", "language", "model", "partials", "start_us", "settled_us", "said", "prompt", "temperature", "details", "vad_start", "min_silence_ms", "continues")
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PARTIALS_FIELD_NUMBER: _ClassVar[int]
    START_US_FIELD_NUMBER: _ClassVar[int]
    SETTLED_US_FIELD_NUMBER: _ClassVar[int]
    SAID_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    VAD_START_FIELD_NUMBER: _ClassVar[int]
    MIN_SILENCE_MS_FIELD_NUMBER: _ClassVar[int]
    CONTINUES_FIELD_NUMBER: _ClassVar[int]
    encoding: str
    sample_rate_hz: int
    channels: int
    language: str
    model: str
    partials: bool
    start_us: int
    settled_us: int
    said: _containers.RepeatedCompositeFieldContainer[Word]
    prompt: str
    temperature: float
    details: bool
    vad_start: float
    min_silence_ms: int
    continues: bool
    def __init__(self, encoding: _Optional[str] = ..., sample_rate_hz: _Optional[int] = ..., channels: _Optional[int] = ..., language: _Optional[str] = ..., model: _Optional[str] = ..., partials: _Optional[bool] = ..., start_us: _Optional[int] = ..., settled_us: _Optional[int] = ..., said: _Optional[_Iterable[_Union[Word, _Mapping]]] = ..., prompt: _Optional[str] = ..., temperature: _Optional[float] = ..., details: _Optional[bool] = ..., vad_start: _Optional[float] = ..., min_silence_ms: _Optional[int] = ..., continues: _Optional[bool] = ...) -> None: ...

class AudioChunk(_message.Message):
    __slots__ = ("seq", "pts_us", "data")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    PTS_US_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    seq: int
    pts_us: int
    data: bytes
    def __init__(self, seq: _Optional[int] = ..., pts_us: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class RecognizeResponse(_message.Message):
    __slots__ = ("ready", "speech_started", "speech_stopped", "partial", "committed", "settled", "marker", "warning", "coverage")
    READY_FIELD_NUMBER: _ClassVar[int]
    SPEECH_STARTED_FIELD_NUMBER: _ClassVar[int]
    SPEECH_STOPPED_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    MARKER_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    ready: Ready
    speech_started: SpeechStarted
    speech_stopped: SpeechStopped
    partial: Partial
    committed: Committed
    settled: Settled
    marker: _common_pb2.Marker
    warning: Notice
    coverage: Coverage
    def __init__(self, ready: _Optional[_Union[Ready, _Mapping]] = ..., speech_started: _Optional[_Union[SpeechStarted, _Mapping]] = ..., speech_stopped: _Optional[_Union[SpeechStopped, _Mapping]] = ..., partial: _Optional[_Union[Partial, _Mapping]] = ..., committed: _Optional[_Union[Committed, _Mapping]] = ..., settled: _Optional[_Union[Settled, _Mapping]] = ..., marker: _Optional[_Union[_common_pb2.Marker, _Mapping]] = ..., warning: _Optional[_Union[Notice, _Mapping]] = ..., coverage: _Optional[_Union[Coverage, _Mapping]] = ...) -> None: ...

class Ready(_message.Message):
    __slots__ = ("model", "language", "prompt_tokens")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    model: str
    language: str
    prompt_tokens: int
    def __init__(self, model: _Optional[str] = ..., language: _Optional[str] = ..., prompt_tokens: _Optional[int] = ...) -> None: ...

class SpeechStarted(_message.Message):
    __slots__ = ("pts_us",)
    PTS_US_FIELD_NUMBER: _ClassVar[int]
    pts_us: int
    def __init__(self, pts_us: _Optional[int] = ...) -> None: ...

class SpeechStopped(_message.Message):
    __slots__ = ("pts_us",)
    PTS_US_FIELD_NUMBER: _ClassVar[int]
    pts_us: int
    def __init__(self, pts_us: _Optional[int] = ...) -> None: ...

class Token(_message.Message):
    __slots__ = ("id", "text", "logprob")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LOGPROB_FIELD_NUMBER: _ClassVar[int]
    id: int
    text: bytes
    logprob: float
    def __init__(self, id: _Optional[int] = ..., text: _Optional[bytes] = ..., logprob: _Optional[float] = ...) -> None: ...

class Word(_message.Message):
    __slots__ = ("text", "start_us", "end_us", "confidence", "interpolated", "tokens")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    START_US_FIELD_NUMBER: _ClassVar[int]
    END_US_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    INTERPOLATED_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    text: str
    start_us: int
    end_us: int
    confidence: float
    interpolated: bool
    tokens: _containers.RepeatedCompositeFieldContainer[Token]
    def __init__(self, text: _Optional[str] = ..., start_us: _Optional[int] = ..., end_us: _Optional[int] = ..., confidence: _Optional[float] = ..., interpolated: _Optional[bool] = ..., tokens: _Optional[_Iterable[_Union[Token, _Mapping]]] = ...) -> None: ...

class Partial(_message.Message):
    __slots__ = ("words", "timing")
    WORDS_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    words: _containers.RepeatedCompositeFieldContainer[Word]
    timing: _common_pb2.StageTiming
    def __init__(self, words: _Optional[_Iterable[_Union[Word, _Mapping]]] = ..., timing: _Optional[_Union[_common_pb2.StageTiming, _Mapping]] = ...) -> None: ...

class Window(_message.Message):
    __slots__ = ("start_us", "no_speech", "language")
    START_US_FIELD_NUMBER: _ClassVar[int]
    NO_SPEECH_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    start_us: int
    no_speech: float
    language: str
    def __init__(self, start_us: _Optional[int] = ..., no_speech: _Optional[float] = ..., language: _Optional[str] = ...) -> None: ...

class Committed(_message.Message):
    __slots__ = ("words", "timing", "window")
    WORDS_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    words: _containers.RepeatedCompositeFieldContainer[Word]
    timing: _common_pb2.StageTiming
    window: Window
    def __init__(self, words: _Optional[_Iterable[_Union[Word, _Mapping]]] = ..., timing: _Optional[_Union[_common_pb2.StageTiming, _Mapping]] = ..., window: _Optional[_Union[Window, _Mapping]] = ...) -> None: ...

class Settled(_message.Message):
    __slots__ = ("until_us", "received_us", "coverage", "resume_us")
    UNTIL_US_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_US_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    RESUME_US_FIELD_NUMBER: _ClassVar[int]
    until_us: int
    received_us: int
    coverage: Coverage
    resume_us: int
    def __init__(self, until_us: _Optional[int] = ..., received_us: _Optional[int] = ..., coverage: _Optional[_Union[Coverage, _Mapping]] = ..., resume_us: _Optional[int] = ...) -> None: ...

class Notice(_message.Message):
    __slots__ = ("code", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Dropped(_message.Message):
    __slots__ = ("start_us", "end_us", "reason")
    START_US_FIELD_NUMBER: _ClassVar[int]
    END_US_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    start_us: int
    end_us: int
    reason: str
    def __init__(self, start_us: _Optional[int] = ..., end_us: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Coverage(_message.Message):
    __slots__ = ("duration_us", "transcribed_us", "silent_us", "dropped")
    DURATION_US_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIBED_US_FIELD_NUMBER: _ClassVar[int]
    SILENT_US_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    duration_us: int
    transcribed_us: int
    silent_us: int
    dropped: _containers.RepeatedCompositeFieldContainer[Dropped]
    def __init__(self, duration_us: _Optional[int] = ..., transcribed_us: _Optional[int] = ..., silent_us: _Optional[int] = ..., dropped: _Optional[_Iterable[_Union[Dropped, _Mapping]]] = ...) -> None: ...
