from attune.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EncodeRequests(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[EncodeRequest]
    def __init__(self, items: _Optional[_Iterable[_Union[EncodeRequest, _Mapping]]] = ...) -> None: ...

class EncodeResponses(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[EncodeResponse]
    def __init__(self, items: _Optional[_Iterable[_Union[EncodeResponse, _Mapping]]] = ...) -> None: ...

class EncodeRequest(_message.Message):
    __slots__ = ("config", "image")
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    config: EncodeConfig
    image: Image
    def __init__(self, config: _Optional[_Union[EncodeConfig, _Mapping]] = ..., image: _Optional[_Union[Image, _Mapping]] = ...) -> None: ...

class EncodeConfig(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: str
    def __init__(self, model: _Optional[str] = ...) -> None: ...

class Image(_message.Message):
    __slots__ = ("id", "pts_us", "data")
    ID_FIELD_NUMBER: _ClassVar[int]
    PTS_US_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    id: str
    pts_us: int
    data: bytes
    def __init__(self, id: _Optional[str] = ..., pts_us: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class EncodeResponse(_message.Message):
    __slots__ = ("frame", "failure")
    FRAME_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    frame: Frame
    failure: FrameFailure
    def __init__(self, frame: _Optional[_Union[Frame, _Mapping]] = ..., failure: _Optional[_Union[FrameFailure, _Mapping]] = ...) -> None: ...

class Label(_message.Message):
    __slots__ = ("text", "score")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    text: str
    score: float
    def __init__(self, text: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...

class Region(_message.Message):
    __slots__ = ("box", "labels")
    BOX_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    box: _common_pb2.Box
    labels: _containers.RepeatedCompositeFieldContainer[Label]
    def __init__(self, box: _Optional[_Union[_common_pb2.Box, _Mapping]] = ..., labels: _Optional[_Iterable[_Union[Label, _Mapping]]] = ...) -> None: ...

class ImageReport(_message.Message):
    __slots__ = ("format", "width", "height", "orientation", "notes")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    ORIENTATION_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    format: str
    width: int
    height: int
    orientation: int
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, format: _Optional[str] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., orientation: _Optional[int] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class Frame(_message.Message):
    __slots__ = ("id", "pts_us", "labels", "regions", "embedding", "inline", "handle", "report", "timing")
    ID_FIELD_NUMBER: _ClassVar[int]
    PTS_US_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    REGIONS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    INLINE_FIELD_NUMBER: _ClassVar[int]
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    id: str
    pts_us: int
    labels: _containers.RepeatedCompositeFieldContainer[Label]
    regions: _containers.RepeatedCompositeFieldContainer[Region]
    embedding: _containers.RepeatedScalarFieldContainer[float]
    inline: _common_pb2.RegionTokens
    handle: _common_pb2.RegionTokenHandle
    report: ImageReport
    timing: _common_pb2.StageTiming
    def __init__(self, id: _Optional[str] = ..., pts_us: _Optional[int] = ..., labels: _Optional[_Iterable[_Union[Label, _Mapping]]] = ..., regions: _Optional[_Iterable[_Union[Region, _Mapping]]] = ..., embedding: _Optional[_Iterable[float]] = ..., inline: _Optional[_Union[_common_pb2.RegionTokens, _Mapping]] = ..., handle: _Optional[_Union[_common_pb2.RegionTokenHandle, _Mapping]] = ..., report: _Optional[_Union[ImageReport, _Mapping]] = ..., timing: _Optional[_Union[_common_pb2.StageTiming, _Mapping]] = ...) -> None: ...

class FrameFailure(_message.Message):
    __slots__ = ("id", "code", "message")
    ID_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    id: str
    code: str
    message: str
    def __init__(self, id: _Optional[str] = ..., code: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...
