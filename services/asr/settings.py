"""Settings of the speech service, read from ``ATTUNE_ASR_*`` by its entry point and passed down."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from services.common.settings import ProcessSettings

BUSY_SHARE = 2.5  # a live session waits this many times its own share of a pass before the next one


class AsrSettings(ProcessSettings):
    """What an operator may change about speech recognition."""

    model_config = SettingsConfigDict(env_prefix="ATTUNE_ASR_", frozen=True, extra="forbid")

    model: str = Field("tiny.en", min_length=1, description="tiny.en, a folder with a CTranslate2 Whisper, or fake.")
    workers: int = Field(2, ge=1, le=64, description="Threads that run the model: one core each, 0.1 GB each.")
    max_batch: int = Field(
        4, ge=1, le=32, description="Passes of several calls run together: more serves more calls, each a little later."
    )
    max_lag_s: float = Field(
        2.0, gt=0.0, le=60.0, description="Lag (P95) of live sessions beyond which no further one is let in."
    )
    max_sessions: int = Field(
        64, ge=1, le=4096, description="Live sessions at once, whatever their lag; the next one is refused."
    )
    max_files: int = Field(
        16, ge=1, le=4096, description="Files at once, each held in memory; the next one is refused."
    )
    pass_interval_ms: int = Field(
        500, ge=100, le=5_000, description="New speech before it is decoded again: less shows words sooner, costs more."
    )
    max_window_s: float = Field(
        10.0, ge=4.0, le=20.0, description="Speech decoded as one piece: more context for the model, dearer passes."
    )
    max_backlog_s: float = Field(
        30.0, ge=5.0, le=300.0, description="Undecided audio held per session before its sender has to wait."
    )
    max_file_s: float = Field(
        3_600.0, ge=1.0, le=86_400.0, description="Longest file: up to 0.3 MB of memory a second."
    )
    max_file_bytes: int = Field(
        256 * 2**20, ge=1_024, le=4 * 2**30, description="Largest file before decoding; held in memory while it comes."
    )
    decoder_processes: int = Field(1, ge=1, le=32, description="Processes that decode files, 60 MB each.")
    decode_timeout_s: float = Field(60.0, ge=1.0, le=3_600.0, description="Longest decoding of one file.")
    vad_start: float = Field(
        0.5, gt=0.0, lt=1.0, description="Speech probability that starts speech: lower hears more."
    )
    vad_stop: float = Field(0.35, gt=0.0, lt=1.0, description="Speech probability under which silence begins.")
    min_speech_ms: int = Field(
        128, ge=32, le=1_000, description="Shortest speech: more ignores clicks and short words."
    )
    min_silence_ms: int = Field(
        500, ge=100, le=3_000, description="Pause that ends speech and makes it final: less is sooner, cuts more often."
    )
