"""`attune stream` from outside."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.running import Running, eventually

TALK = Path(__file__).parents[2] / "examples" / "tour" / "talk.wav"


def test_sigterm_leaves_the_report(fakes: Running, tmp_path: Path):
    """A stream that is told to end in the middle writes what it has, says it is not complete, and exits 143."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "services.cli", "stream", str(TALK), "--out", str(out), "--url", fakes.url]
    view = tmp_path / "view.txt"
    with view.open("w") as shown, subprocess.Popen(command, stdout=shown, stderr=subprocess.STDOUT) as process:
        asyncio.run(eventually(lambda: "w1" in view.read_text()))
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + signal.SIGTERM
    assert "Traceback" not in view.read_text()
    record = json.loads((out / "session.json").read_text())
    assert record["complete"] is False
    assert 0 < record["duration_us"] < 10_000_000
    assert record["words"]
