"""Checks what comes in on a stream of images before any work is done. Called by the engine and the fake."""

from collections.abc import AsyncIterator

from services.common.errors import InvalidInput, TooLarge
from services.common.types import EncodeConfig, Image, VisionInput


async def take_config(inputs: AsyncIterator[VisionInput], model: str) -> None:
    """Take the first input; InvalidInput unless it is a configuration for ``model`` or for no model in particular."""
    first = await anext(inputs, None)
    if not isinstance(first, EncodeConfig):
        raise InvalidInput("the first message must be the configuration")
    if first.model not in ("", model):
        raise InvalidInput(f"there is no model {first.model!r} here; there is {model}", param="model")


def image_of(item: VisionInput) -> Image:
    """Return an input that must be an image; InvalidInput for a second configuration."""
    if not isinstance(item, Image):
        raise InvalidInput("the configuration comes once, before the images")
    return item


def check_bytes(image: Image, max_image_bytes: int) -> None:
    """Raise TooLarge for a file of more bytes than are taken."""
    if len(image.data) > max_image_bytes:
        raise TooLarge(f"the image has {len(image.data)} bytes; at most {max_image_bytes} are taken")
