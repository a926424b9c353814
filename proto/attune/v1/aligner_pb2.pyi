from attune.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AlignRequest(_message.Message):
    __slots__ = ("config", "frame", "words", "progress", "flush")
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    FLUSH_FIELD_NUMBER: _ClassVar[int]
    config: AlignConfig
    frame: FrameTokens
    words: Words
    progress: Progress
    flush: _common_pb2.Marker
    def __init__(self, config: _Optional[_Union[AlignConfig, _Mapping]] = ..., frame: _Optional[_Union[FrameTokens, _Mapping]] = ..., words: _Optional[_Union[Words, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., flush: _Optional[_Union[_common_pb2.Marker, _Mapping]] = ...) -> None: ...

class AlignConfig(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: str
    def __init__(self, model: _Optional[str] = ...) -> None: ...

class FrameTokens(_message.Message):
    __slots__ = ("id", "pts_us", "inline", "handle")
    ID_FIELD_NUMBER: _ClassVar[int]
    PTS_US_FIELD_NUMBER: _ClassVar[int]
    INLINE_FIELD_NUMBER: _ClassVar[int]
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    id: str
    pts_us: int
    inline: _common_pb2.RegionTokens
    handle: _common_pb2.RegionTokenHandle
    def __init__(self, id: _Optional[str] = ..., pts_us: _Optional[int] = ..., inline: _Optional[_Union[_common_pb2.RegionTokens, _Mapping]] = ..., handle: _Optional[_Union[_common_pb2.RegionTokenHandle, _Mapping]] = ...) -> None: ...

class Words(_message.Message):
    __slots__ = ("words",)
    WORDS_FIELD_NUMBER: _ClassVar[int]
    words: _containers.RepeatedCompositeFieldContainer[SpokenWord]
    def __init__(self, words: _Optional[_Iterable[_Union[SpokenWord, _Mapping]]] = ...) -> None: ...

class SpokenWord(_message.Message):
    __slots__ = ("id", "text", "start_us", "end_us")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    START_US_FIELD_NUMBER: _ClassVar[int]
    END_US_FIELD_NUMBER: _ClassVar[int]
    id: int
    text: str
    start_us: int
    end_us: int
    def __init__(self, id: _Optional[int] = ..., text: _Optional[str] = ..., start_us: _Optional[int] = ..., end_us: _Optional[int] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("until_us",)
    UNTIL_US_FIELD_NUMBER: _ClassVar[int]
    until_us: int
    def __init__(self, until_us: _Optional[int] = ...) -> None: ...

class AlignResponse(_message.Message):
    __slots__ = ("alignment", "marker")
    ALIGNMENT_FIELD_NUMBER: _ClassVar[int]
    MARKER_FIELD_NUMBER: _ClassVar[int]
    alignment: Alignment
    marker: _common_pb2.Marker
    def __init__(self, alignment: _Optional[_Union[Alignment, _Mapping]] = ..., marker: _Optional[_Union[_common_pb2.Marker, _Mapping]] = ...) -> None: ...

class ScoredRegion(_message.Message):
    __slots__ = ("box", "score")
    BOX_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    box: _common_pb2.Box
    score: float
    def __init__(self, box: _Optional[_Union[_common_pb2.Box, _Mapping]] = ..., score: _Optional[float] = ...) -> None: ...

class Score(_message.Message):
    __slots__ = ("temporal", "semantic", "combined")
    TEMPORAL_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_FIELD_NUMBER: _ClassVar[int]
    COMBINED_FIELD_NUMBER: _ClassVar[int]
    temporal: float
    semantic: float
    combined: float
    def __init__(self, temporal: _Optional[float] = ..., semantic: _Optional[float] = ..., combined: _Optional[float] = ...) -> None: ...

class Alignment(_message.Message):
    __slots__ = ("word_ids", "text", "frame_id", "relation", "age_us", "regions", "score", "revision", "final", "timing")
    WORD_IDS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FRAME_ID_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    AGE_US_FIELD_NUMBER: _ClassVar[int]
    REGIONS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    word_ids: _containers.RepeatedScalarFieldContainer[int]
    text: str
    frame_id: str
    relation: str
    age_us: int
    regions: _containers.RepeatedCompositeFieldContainer[ScoredRegion]
    score: Score
    revision: int
    final: bool
    timing: _common_pb2.StageTiming
    def __init__(self, word_ids: _Optional[_Iterable[int]] = ..., text: _Optional[str] = ..., frame_id: _Optional[str] = ..., relation: _Optional[str] = ..., age_us: _Optional[int] = ..., regions: _Optional[_Iterable[_Union[ScoredRegion, _Mapping]]] = ..., score: _Optional[_Union[Score, _Mapping]] = ..., revision: _Optional[int] = ..., final: _Optional[bool] = ..., timing: _Optional[_Union[_common_pb2.StageTiming, _Mapping]] = ...) -> None: ...
