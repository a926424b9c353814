"""The gateway's settings, read once by `attune gateway` and `attune up`."""

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from services.common.settings import ProcessSettings


class GatewaySettings(ProcessSettings):
    """Each field is the environment variable ``ATTUNE_GATEWAY_<NAME>``."""

    model_config = SettingsConfigDict(env_prefix="ATTUNE_GATEWAY_")

    host: str = Field("127.0.0.1", description="Address to listen on; 0.0.0.0 shows the server to the network.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0 takes any free one.")
    asr: str = Field("127.0.0.1:50051", description="gRPC target of the speech recogniser.")
    vision: str = Field("127.0.0.1:50052", description="gRPC target of the vision encoder.")
    aligner: str = Field("127.0.0.1:50053", description="gRPC target of the aligner.")
    redis_url: SecretStr | None = Field(
        None, validation_alias="ATTUNE_REDIS_URL", description="Where events are kept; without it nothing is durable."
    )
    cors_origins: tuple[str, ...] = Field((), description="Origins whose pages may call; a * lets every page call.")
    request_timeout_s: float = Field(
        30.0, gt=0, le=600, description="Longest a unary call may take, audio length apart."
    )
    max_file_audio_s: float = Field(3600.0, gt=0, le=86400, description="Added to the time a file with audio may take.")
    image_timeout_s: float = Field(
        20.0, gt=0, le=120, description="Longest one image may take; longer than a service that hangs is away."
    )
    max_upload_bytes: int = Field(200 * 2**20, ge=2**10, description="Largest REST body; larger ones get 413.")
    max_image_bytes: int = Field(20 * 2**20, ge=2**10, description="Largest image; larger ones get too_large.")
    max_images: int = Field(64, ge=1, le=1000, description="Most images in one REST request.")
    max_audio_frame_bytes: int = Field(
        2**20, ge=2**10, description="Largest live audio frame; larger ones get too_large."
    )
    read_timeout_s: float = Field(20.0, gt=0, le=600, description="Longest pause in a request body before it gets 408.")
    ready_timeout_s: float = Field(5.0, gt=0, le=60, description="Longest a recogniser may take to accept a session.")
    send_timeout_s: float = Field(30.0, gt=0, le=600, description="How long a live client may go without reading.")
    start_timeout_s: float = Field(
        10.0, gt=0, le=600, description="How long a live client may take to start its session before close 4408."
    )
    idle_timeout_s: float = Field(
        60.0, gt=0, le=3600, description="How long a live client may send nothing at all before close 4408."
    )
    max_silence_s: float = Field(
        3600.0, gt=0, le=86_400, description="Audio without speech, in a row, before a live session is closed 4408."
    )
    ping_interval_s: float = Field(
        20.0, gt=0, le=600, description="How often a live client is pinged, so that one that vanished is noticed."
    )
    ping_timeout_s: float = Field(
        60.0,
        gt=0,
        le=600,
        description="How long a ping may go unanswered; longer than the server may stop reading under pressure.",
    )
    audio_queue_bytes: int = Field(
        2**20, ge=2**14, description="Live audio waiting for the recogniser before reading stops."
    )
    image_queue: int = Field(4, ge=1, le=64, description="Live images waiting; when full the oldest is dropped.")
    images_at_once: int = Field(2, ge=1, le=16, description="Images of one session that are encoded side by side.")
    outage_s: float = Field(60.0, ge=0, le=600, description="How long a live session waits for a lost recogniser.")
    drain_s: float = Field(10.0, ge=0, le=600, description="How long live sessions get to end when the gateway stops.")
    max_sessions: int = Field(64, ge=1, le=100_000, description="Live sessions at once; further ones get 1013.")
    session_ttl_s: int = Field(3600, ge=1, le=7 * 86400, description="How long events are kept after the last one.")
