"""The aligner's settings: read once from ``ATTUNE_ALIGNER_*`` by the entry point, passed to ``open_aligner``."""

from typing import Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from services.common.settings import ProcessSettings


class AlignerSettings(ProcessSettings):
    """What an operator may change about the aligner."""

    model_config = SettingsConfigDict(env_prefix="ATTUNE_ALIGNER_", frozen=True, extra="forbid")

    model: Literal["conse-minilm", "fake"] = Field(
        "conse-minilm", description="How phrases are compared with frames; fake matches class names, for tests."
    )
    device: str = Field(
        "auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="Where the model runs; auto takes CUDA if present."
    )
    workers: int = Field(
        1, ge=1, le=64, description="Compute threads; more serve more sessions at once, one core each."
    )
    queue_size: int = Field(
        64, ge=0, le=4096, description="Jobs of all sessions that may wait; the next one is refused as overloaded."
    )
    window_s: float = Field(
        3.0, ge=0, le=60, description="How long after its end a phrase may be revised; longer finals come later."
    )
    max_frame_age_s: float = Field(
        120.0, ge=0, le=3600, description="How long after it was last shown a frame may still be meant."
    )
    max_frames: int = Field(
        64, ge=1, le=1024, description="Frames kept per session, 0.4 MB each at 14 x 14 cells; the oldest goes first."
    )
    max_cells: int = Field(4096, ge=1, le=16384, description="Cells a frame may have; larger frames are refused.")
    max_open_phrases: int = Field(
        32, ge=1, le=1024, description="Phrases per session that may still be revised; the oldest is closed first."
    )
    min_probability: float = Field(
        0.5, gt=0, lt=1, description="Least probability that names a frame; higher answers none more often."
    )
