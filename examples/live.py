"""Streams a sound file and one image to a server as if they happened now, and prints what comes back.

Run it: ``python examples/live.py http://127.0.0.1:8080 talk.wav slide.jpg``
"""
# ruff: noqa: T201 - an example prints

import asyncio
import sys
from pathlib import Path

from attune_client import Alignment, Committed, Session, connect
from attune_client.media import MediaClock, paced, read_pcm


async def speak(session: Session, audio: bytes, image: bytes) -> None:
    """Send the image, then the audio at its own pace, then say that this is all."""
    await session.send_image(image)
    async for pts_us, block in paced(audio, MediaClock()):
        await session.send_audio(block, pts_us)
    await session.end()


async def main(url: str, audio: bytes, image: bytes) -> None:
    """Print captions as they become final, and each phrase with the image it is about."""
    async with connect(url) as session, asyncio.TaskGroup() as tasks:
        tasks.create_task(speak(session, audio, image))
        async for event in session:
            if isinstance(event, Committed):
                print(*(word.text for word in event.words))
            elif isinstance(event, Alignment) and event.final:
                print(f"  {event.text!r} is about {event.frame_id or 'no image'}")


url, talk, slide = sys.argv[1:4]
asyncio.run(main(url, read_pcm(Path(talk)), Path(slide).read_bytes()))
