"""``POST /v1/alignments``: an audio file and images in, words, frames and alignments out."""

from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile

from services.common.errors import InvalidInput, TooLarge
from services.common.ports import Call, Priority
from services.common.types import Image
from services.gateway.files import FileAlignment, Files, describe
from services.gateway.schemas import MAX_PTS_US
from services.gateway.settings import GatewaySettings
from services.gateway.state import gateway

router = APIRouter(prefix="/v1", tags=["files"])

OptionalUpload = Annotated[list[UploadFile], File(description="Image files; their bytes decide the format.")]


@router.post("/alignments", summary="Say what was said, and which image and region each phrase is about")
async def post_alignments(
    request: Request,
    audio: Annotated[UploadFile, File(description="A sound file of any container.")],
    images: OptionalUpload = [],  # noqa: B006  # FastAPI copies defaults
    images_pts_us: Annotated[list[int], Form(description="When each image was shown, in the audio's time.")] = [],  # noqa: B006
    language: Annotated[str, Form(max_length=35)] = "",
) -> dict[str, Any]:
    """Transcribe ``audio``, look at ``images``, and join them phrase by phrase."""
    state = gateway(request)
    if len(images) != len(images_pts_us):
        raise InvalidInput(
            f"{len(images)} images need as many images_pts_us, got {len(images_pts_us)}", param="images_pts_us"
        )
    if any(not 0 <= pts_us <= MAX_PTS_US for pts_us in images_pts_us):
        raise InvalidInput("images_pts_us must be microseconds from 0 on", param="images_pts_us")
    pictures = await read_images(images, images_pts_us, state.settings, "images")
    files = Files(await audio.read(), pictures, language)
    call = Call(request_id=request.state.request_id, priority=Priority.FILE)
    return await FileAlignment(files, state.upstreams, state.settings).run(call)


@router.post("/images", summary="Say what images show")
async def post_images(
    request: Request, image: Annotated[list[UploadFile], File(description="Image files.")]
) -> dict[str, Any]:
    """Return labels, regions and an embedding per image, or that image's own error."""
    state = gateway(request)
    pictures = await read_images(image, [0] * len(image), state.settings, "image")
    call = Call(request_id=request.state.request_id, priority=Priority.FILE).within(state.settings.request_timeout_s)
    return {"images": await describe(pictures, state.upstreams, state.settings.max_image_bytes, call)}


async def read_images(
    uploads: list[UploadFile], pts_us: list[int], settings: GatewaySettings, param: str
) -> tuple[Image, ...]:
    """Return uploaded images with ids ``f1, f2 …``; TooLarge when there are too many. A huge one fails on its own."""
    if len(uploads) > settings.max_images:
        raise TooLarge(f"{len(uploads)} images, the limit is {settings.max_images}", param=param)
    return tuple(
        [
            Image(f"f{number}", pts, await upload.read())
            for number, (upload, pts) in enumerate(zip(uploads, pts_us, strict=True), 1)
        ]
    )
