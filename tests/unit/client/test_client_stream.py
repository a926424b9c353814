"""The whole job against a real server."""

import asyncio
import io
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from attune_client.errors import AttuneError, SessionClosed
from attune_client.media import duration_us, read_pcm
from attune_client.stream import stream_files, stream_microphone
from tests.unit.client.server import Heard, Script

QUICK = 20.0


class LiveMicrophone:
    """Records silence, a frame every few milliseconds, from a thread of its own as sound libraries do."""

    def __init__(self, callback: Any, **_: Any) -> None:
        self._callback = callback
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._record)

    def _record(self) -> None:
        while not self._closed.wait(0.002):
            self._callback(bytes(1600), 800, None, None)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()


class FakeSounddevice:
    """The part of sounddevice that is used."""

    PortAudioError = RuntimeError
    RawInputStream = LiveMicrophone


class DeafMicrophone(LiveMicrophone):
    """There is none."""

    def __init__(self, callback: Any, **_: Any) -> None:
        raise RuntimeError("no input device")


class NoDevice(FakeSounddevice):
    """sounddevice on a machine without a microphone."""

    RawInputStream = DeafMicrophone


def quiet() -> Console:
    return Console(file=io.StringIO())


async def test_a_talk_is_streamed_and_reported(
    url: str, heard: Heard, speech: Path, images: Path, tmp_path: Path
) -> None:
    """Every byte of the talk arrives stamped by the sample, images at their time, and the folder is written."""
    summary = await stream_files(url, speech, images, tmp_path / "out", speed=QUICK, console=quiet(), language="en")
    pcm = read_pcm(speech)
    assert b"".join(heard.payloads(1)) == pcm
    assert heard.stamps(1)[:3] == [(1, 0), (2, 50_000), (3, 100_000)]
    assert heard.payloads(2) == [(images / name).read_bytes() for name in ("a-cat.png", "b-coffee.jpg")]
    assert heard.stamps(2) == [(1, 0), (2, duration_us(pcm) // 2)]
    assert heard.messages[0]["language"] == "en"
    assert (summary.words, summary.phrases, summary.matched, summary.images) == (13, 2, 2, 2)
    assert summary.faults == ()
    assert {path.name for path in summary.files} == {
        "captions.vtt", "session.json", "01-a-cat.png", "02-b-coffee.png"
    }  # fmt: skip


async def test_an_image_goes_before_the_audio_of_its_time(
    url: str, heard: Heard, speech: Path, images: Path, tmp_path: Path
) -> None:
    """The server hears of an image no later than of the sound it belongs to."""
    await stream_files(url, speech, images, tmp_path, speed=QUICK, console=quiet())
    order = [(kind, pts_us) for kind, _, _, pts_us, _ in heard.media]
    image_us = heard.stamps(2)[1][1]
    at = order.index((2, image_us))
    assert order[at - 1][1] < image_us <= order[at + 1][1]


async def test_a_talk_needs_no_images(url: str, speech: Path, tmp_path: Path) -> None:
    """Captions alone are a talk too."""
    summary = await stream_files(url, speech, None, tmp_path, speed=QUICK, console=quiet())
    assert (summary.images, summary.matched, summary.phrases) == (0, 0, 2)


async def test_a_session_that_breaks_off_leaves_its_report(
    url: str, script: Script, speech: Path, images: Path, tmp_path: Path
) -> None:
    """What was heard is kept and marked as incomplete; the error says what happened in one line."""
    script.close_after_audio = (1012, "restarting")
    with pytest.raises(SessionClosed, match="restarting") as caught:
        await stream_files(url, speech, images, tmp_path, speed=QUICK, console=quiet())
    assert "\n" not in str(caught.value)
    assert json.loads((tmp_path / "session.json").read_text())["complete"] is False


async def test_a_server_that_ends_without_a_word_is_not_believed(
    url: str, script: Script, speech: Path, tmp_path: Path
) -> None:
    """A close 1000 before session.ended is no end."""
    script.close_after_audio = (1000, "")
    with pytest.raises(AttuneError, match="without ending it"):
        await stream_files(url, speech, None, tmp_path, speed=QUICK, console=quiet())


async def test_without_a_server_nothing_is_written(speech: Path, images: Path, tmp_path: Path) -> None:
    """A report about nothing would mislead."""
    with pytest.raises(AttuneError, match="cannot reach"):
        await stream_files("http://127.0.0.1:9", speech, images, tmp_path / "out", console=quiet())
    assert not (tmp_path / "out").exists()


async def test_a_folder_that_cannot_be_written_is_told_before_the_talk(
    url: str, heard: Heard, speech: Path, tmp_path: Path
) -> None:
    """A talk of an hour is not given for a report that nobody gets."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AttuneError, match=r"cannot write .*out: Not a directory") as caught:
        await stream_files(url, speech, None, tmp_path / "file" / "out", console=quiet())
    assert caught.value.param == "out"
    assert not heard.headers


async def test_the_live_picture_runs_in_a_terminal(url: str, speech: Path, images: Path, tmp_path: Path) -> None:
    """The last picture says that the talk is done."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, height=24, _environ={"TERM": "xterm"})
    await stream_files(url, speech, images, tmp_path, speed=QUICK, console=console)
    assert "● done" in file.getvalue()


async def test_a_microphone_is_streamed_for_as_long_as_asked(
    url: str, heard: Heard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Three seconds of it, in frames of 50 ms, then the session ends in good order."""
    monkeypatch.setitem(sys.modules, "sounddevice", FakeSounddevice)
    summary = await stream_microphone(url, 3.0, None, tmp_path, console=quiet())
    assert len(b"".join(heard.payloads(1))) == 3 * 32_000
    assert (summary.words, summary.duration_us) == (7, 3_000_000)
    assert json.loads((tmp_path / "session.json").read_text())["complete"] is True


async def test_ctrl_c_ends_a_microphone_session_in_good_order(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The session is ended and reported, not cut off."""
    monkeypatch.setitem(sys.modules, "sounddevice", FakeSounddevice)
    asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGINT)
    summary = await stream_microphone(url, 3600.0, None, tmp_path, console=quiet())
    assert summary.duration_us < 3_600_000_000
    assert json.loads((tmp_path / "session.json").read_text())["complete"] is True


async def test_without_a_microphone_one_line_says_so(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And nothing is written."""
    monkeypatch.setitem(sys.modules, "sounddevice", NoDevice)
    with pytest.raises(AttuneError, match="no microphone: no input device"):
        await stream_microphone(url, 3.0, None, tmp_path / "out", console=quiet())
    assert not (tmp_path / "out").exists()
