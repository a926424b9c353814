"""Settings of the image encoder's process, read from ``ATTUNE_VISION_*`` by its entry point."""

from typing import Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from services.common.settings import ProcessSettings


class VisionSettings(ProcessSettings):
    """How images are read and encoded; each bound says what a machine can be asked for."""

    model_config = SettingsConfigDict(env_prefix="ATTUNE_VISION_", frozen=True, extra="forbid")

    model: Literal["efficientnet-lite0", "fake"] = Field(
        "efficientnet-lite0", description="Network that encodes; fake answers from mean colours, for tests."
    )
    device: str = Field(
        "auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="Where the network runs; auto takes CUDA if present."
    )
    workers: int = Field(
        1, ge=1, le=64, description="Images encoded at once on CPU, one thread each; CUDA always uses one."
    )
    slots: int = Field(
        64,
        ge=1,
        le=1024,
        description="Images between file and answer, 0.7 MB each at 448 px; the next one waits.",
    )
    decoder_processes: int = Field(
        1, ge=1, le=32, description="Files decoded at once, one process of about 40 MB each."
    )
    decoder_queue_size: int = Field(
        32, ge=1, le=1024, description="Files that may wait for a slot; the next one is refused."
    )
    decode_timeout_s: float = Field(
        5.0, ge=0.1, le=120.0, description="A file that takes longer fails and its decoder is replaced."
    )
    images_per_stream: int = Field(
        4, ge=1, le=64, description="Images of one stream in work at once; the stream is not read on beyond them."
    )
    max_image_bytes: int = Field(
        20 * 2**20, ge=1024, le=60 * 2**20, description="Largest file taken; gRPC messages end at 64 MiB."
    )
    max_pixels: int = Field(
        50_000_000, ge=10_000, le=89_000_000, description="Largest image decoded; one pixel costs up to 8 bytes."
    )
    max_side_px: int = Field(
        448, ge=224, le=1792, description="Longer images are shrunk to it; time and token size grow with its square."
    )
