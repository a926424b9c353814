from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class StageTiming(_message.Message):
    __slots__ = ("queue_us", "compute_us", "device_us")
    QUEUE_US_FIELD_NUMBER: _ClassVar[int]
    COMPUTE_US_FIELD_NUMBER: _ClassVar[int]
    DEVICE_US_FIELD_NUMBER: _ClassVar[int]
    queue_us: int
    compute_us: int
    device_us: int
    def __init__(self, queue_us: _Optional[int] = ..., compute_us: _Optional[int] = ..., device_us: _Optional[int] = ...) -> None: ...

class Marker(_message.Message):
    __slots__ = ("marker",)
    MARKER_FIELD_NUMBER: _ClassVar[int]
    marker: str
    def __init__(self, marker: _Optional[str] = ...) -> None: ...

class Box(_message.Message):
    __slots__ = ("x0", "y0", "x1", "y1")
    X0_FIELD_NUMBER: _ClassVar[int]
    Y0_FIELD_NUMBER: _ClassVar[int]
    X1_FIELD_NUMBER: _ClassVar[int]
    Y1_FIELD_NUMBER: _ClassVar[int]
    x0: float
    y0: float
    x1: float
    y1: float
    def __init__(self, x0: _Optional[float] = ..., y0: _Optional[float] = ..., x1: _Optional[float] = ..., y1: _Optional[float] = ...) -> None: ...

class RegionTokens(_message.Message):
    __slots__ = ("space", "rows", "cols", "dim", "cells", "pooled")
    SPACE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    COLS_FIELD_NUMBER: _ClassVar[int]
    DIM_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    POOLED_FIELD_NUMBER: _ClassVar[int]
    space: str
    rows: int
    cols: int
    dim: int
    cells: bytes
    pooled: bytes
    def __init__(self, space: _Optional[str] = ..., rows: _Optional[int] = ..., cols: _Optional[int] = ..., dim: _Optional[int] = ..., cells: _Optional[bytes] = ..., pooled: _Optional[bytes] = ...) -> None: ...

class RegionTokenHandle(_message.Message):
    __slots__ = ("process", "id")
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    process: str
    id: str
    def __init__(self, process: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...
