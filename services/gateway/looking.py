"""One session's eyes: live images in, frame events and region tokens out. Images never block: the newest wins."""

from services.common.errors import AttuneError, Internal
from services.common.grpc_client import one
from services.common.metrics import IMAGES
from services.common.ports import Call, ImageEncoder
from services.common.types import EncodeConfig, EncodedFrame, FailedFrame, FrameTokens, Image, VisionInput
from services.gateway import events
from services.gateway.inbox import Inbox
from services.gateway.kept import KeptAll
from services.gateway.matching import Matching
from services.gateway.replay import with_replay
from services.gateway.schemas import Media
from services.gateway.session import Event
from services.gateway.telling import Teller


async def encoded(encoder: ImageEncoder, image: Image, call: Call) -> EncodedFrame | FailedFrame:
    """Return what the encoder says of one image; an error becomes this image's failure."""
    inputs: Inbox[VisionInput] = Inbox.of(EncodeConfig(), image)
    try:
        frame = await one(encoder, inputs, call)
    except AttuneError as error:
        return FailedFrame(image.id, error.code, error.message)
    return frame or FailedFrame(image.id, Internal.code, "the encoder gave no answer")


class Looking:
    """Feeds an image encoder and tells what it sees; tokens go on to be matched."""

    def __init__(self, teller: Teller, matching: Matching, queue_size: int) -> None:
        self._teller = teller
        self._acks = teller.session.acks
        self._matching = matching
        self._images: Inbox[tuple[int, Image]] = Inbox(queue_size)

    async def take(self, media: Media) -> None:
        """Take an image at once; when too many wait, the oldest is dropped and told."""
        self._acks.image_came(media.seq)
        self._teller.session.usage["images"] += 1
        self._matching.image_came()
        dropped = self._images.put_newest((media.seq, Image(f"f{media.seq}", media.pts_us, media.data)))
        if dropped is not None:
            seq, image = dropped
            reason = "newer images came before its turn"
            await self._decide(seq, events.frame_json(image.id, image.pts_us, "dropped", reason=reason))

    async def reject(self, media: Media, error: AttuneError) -> None:
        """Tell that an image cannot be taken."""
        self._acks.image_came(media.seq)
        self._matching.image_came()
        failed = FailedFrame(f"f{media.seq}", error.code, error.message)
        await self._decide(media.seq, events.frame_event(failed, media.pts_us))

    def close(self) -> None:
        """Say that no more images come."""
        self._images.close()

    async def look(self, encoder: ImageEncoder, call: Call, timeout_s: float) -> None:
        """Encode images one after the other until closed; run several for several at once."""
        patient = with_replay(encoder, KeptAll, self._teller.outage("vision", timeout_s, from_start=True))
        async for seq, image in self._images:
            frame = await encoded(patient, image, call.within(timeout_s))
            if isinstance(frame, EncodedFrame):
                self._matching.take(FrameTokens(frame.id, frame.pts_us, frame.tokens))
                await self._teller.notice("vision", None)
            await self._decide(seq, events.frame_event(frame, image.pts_us))

    async def _decide(self, seq: int, event: Event) -> None:
        IMAGES.labels(event["status"]).inc()
        self._matching.image_decided()
        await self._teller.emit(event)
        self._acks.image_decided(seq)
