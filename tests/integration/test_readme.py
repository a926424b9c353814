"""What the README tells people to run, run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import Running

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
ADDRESS = "http://127.0.0.1:8080"


@pytest.mark.parametrize(("number", "printed"), [(0, "SessionEnded"), (1, "w1 w2 w3")])
def test_the_python_examples_run(fakes: Running, number: int, printed: str):
    """The snippets work as they stand, but for the address."""
    codes = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(codes) == 2
    command = [sys.executable, "-W", "error", "-c", codes[number].replace(ADDRESS, fakes.url)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_curl_example_runs(fakes: Running):
    """So does the command for the shell."""
    (command,) = [line.strip() for line in README.splitlines() if line.strip().startswith("curl ")]
    done = subprocess.run(
        command.replace(ADDRESS, fakes.url),
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '"alignments"' in done.stdout


def test_every_path_and_target_exists():
    """Linked files and make targets are there."""
    targets = re.findall(r"^    make (\w+)", README, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{target}:" in makefile for target in targets)
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []
