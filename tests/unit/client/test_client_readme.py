"""The README's snippets and the example, run as a user runs them."""

import asyncio
import importlib.resources
import re
import sys
from pathlib import Path

import moonshine_voice
import pytest
from starlette.responses import JSONResponse

from tests.unit.client.server import Script
from tests.unit.client.test_client_rest import ANSWER

README = importlib.resources.files("attune_client").joinpath("README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
EXAMPLE = Path(__file__).parents[3] / "examples" / "live.py"


@pytest.fixture
def sound() -> Path:
    """One and a half seconds."""
    return next(Path(moonshine_voice.__file__).parent.rglob("error.wav"))


async def run(*arguments: str) -> str:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, errors = await child.communicate()
    assert child.returncode == 0, errors.decode()
    return out.decode()


def filled(snippet: str, url: str, sound: Path, image: Path) -> str:
    return (
        snippet.replace("http://127.0.0.1:8080", url)
        .replace('"talk.wav"', repr(str(sound)))
        .replace('"slide.jpg"', repr(str(image)))
    )


async def test_the_live_snippet_prints_words_and_matches(url: str, script: Script, sound: Path, images: Path) -> None:
    """As the README shows it, only with this server's address and these files."""
    script.text = "a cat."
    printed = await run("-c", filled(SNIPPETS[0], url, sound, images / "a-cat.png"))
    assert printed.splitlines()[:2] == ["heard: a", "heard: cat."]
    assert "about: a cat. -> f1" in printed


async def test_the_rest_snippet_prints_answers(url: str, script: Script, sound: Path, images: Path) -> None:
    """As the README shows it."""
    script.answers["/v1/alignments"] = lambda: JSONResponse(ANSWER)
    script.answers["/v1/images"] = lambda: JSONResponse({"images": [{"error": {"code": "c", "message": "m"}}]})
    printed = await run("-c", filled(SNIPPETS[1], url, sound, images / "a-cat.png"))
    assert printed == "cat -> f1 1.0\nImageError(code='c', message='m')\n"


async def test_the_example_prints_words_and_matches(url: str, script: Script, sound: Path, images: Path) -> None:
    """Run with a server's address, a sound file and an image."""
    script.text = "a cat."
    printed = await run(str(EXAMPLE), url, str(sound), str(images / "a-cat.png"))
    assert printed == "a\ncat.\n  'a cat.' is about f1\n"
