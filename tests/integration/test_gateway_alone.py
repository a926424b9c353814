"""The gateway in an environment that has nothing else."""

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_the_gateway_extra_alone_is_enough(tmp_path: Path):
    """Installed from the `gateway` extra only, the gateway starts, says who is missing, and there is no torch."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    install = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        str(ROOT / "constraints.txt"),
        f"{ROOT}[gateway]",
    ]
    subprocess.run(install, check=True, cwd=tmp_path)
    found = subprocess.run(
        [python, "-c", "import importlib.util as u; print([n for n in ('torch', 'numpy') if u.find_spec(n)])"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert found.stdout.strip() == "[]"
    command = [str(tmp_path / "venv" / "bin" / "attune"), "gateway", "--port", "0"]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True) as gateway:
        assert gateway.stderr is not None
        url = next(line for line in gateway.stderr if line.startswith("listening")).split()[-1]
        try:
            assert httpx.get(f"{url}/livez").status_code == 200
            started = time.monotonic()
            ready = httpx.get(f"{url}/readyz", timeout=10)
            assert (ready.status_code, set(ready.json()["upstreams"].values())) == (503, {False})
            answer = httpx.post(f"{url}/v1/images", files={"image": b"x"}, timeout=10)
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert time.monotonic() - started < 5
        finally:
            gateway.terminate()
            gateway.wait(20)
