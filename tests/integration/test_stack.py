"""`attune up`: what happens when parts die, ports are taken, and the end comes."""

import asyncio
import inspect
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest

from services import cli
from services.stack import StackSettings
from tests.integration.test_stream import picture, sound
from tests.running import Running, eventually, media, running_stack, talking

FAKES = {f"ATTUNE_{name}_MODEL": "fake" for name in ("ASR", "VISION", "ALIGNER")}
BACK_WITHIN_S = 10


@pytest.fixture
def stack(tmp_path: Path):
    """Run a stack of its own for one test."""
    with running_stack(
        tmp_path, {**os.environ, **FAKES, "ATTUNE_UP_HANG_S": "2", "ATTUNE_UP_CHECK_EVERY_S": "0.5"}
    ) as running:
        yield running


def pids(running: Running) -> dict[str, int]:
    """Return the process id of every part."""
    return {name: running.child(name).pid for name in running.processes}


async def until_ready(running: Running, within_s: float = BACK_WITHIN_S) -> None:
    """Wait until the gateway says that everything is there."""
    deadline = time.monotonic() + within_s
    async with httpx.AsyncClient(base_url=running.url) as http:
        while time.monotonic() < deadline:
            try:
                if (await http.get("/readyz")).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            await asyncio.sleep(0.1)
    raise AssertionError(f"not ready within {within_s} s")


@pytest.mark.parametrize("name", ["asr", "vision", "aligner"])
async def test_a_killed_service_comes_back_and_the_session_loses_nothing(stack: Running, name: str):
    """A live session outlives a kill -9 of any service: all words come, once, and nothing else dies."""
    before = pids(stack)
    async with talking(stack) as talk:
        for seq in range(1, 61):
            if seq == 20:
                os.kill(before[name], signal.SIGKILL)
            if seq == 22:
                await talk.send(media(2, 1, 1_100_000, picture()))
            await talk.send(media(1, seq, (seq - 1) * 50_000, sound(0.05)))
            await asyncio.sleep(0.03)
        events = await talk.end()
    words = [word for event in talk.of("transcript.committed") for word in event["words"]]
    assert [word["text"] for word in words] == ["w0", "w1", "w2", "w3", "w4", "w5"]
    assert [word["id"] for word in words] == [1, 2, 3, 4, 5, 6]
    coverage = events[-1]["coverage"]
    assert coverage["transcribed_us"] + coverage["silent_us"] == coverage["duration_us"] == 3_000_000
    assert talk.of("frame")[0]["status"] == "seen"
    aligned = [word_id for event in talk.of("alignment") if event["final"] for word_id in event["word_ids"]]
    assert sorted(aligned) == [1, 2, 3, 4, 5, 6]
    if name == "asr":
        assert [event["stage"] for event in talk.of("degraded") + talk.of("recovered")] == ["asr", "asr"]
    await until_ready(stack)
    after = pids(stack)
    assert {part for part in before if before[part] != after[part]} == {name}


async def test_rest_answers_typed_errors_while_a_service_is_away(stack: Running):
    """Without the recogniser a file gets 503 at once; without vision it gets its words, marked; then all is well."""
    async with httpx.AsyncClient(base_url=stack.url, timeout=10) as http:
        os.kill(stack.child("asr").pid, signal.SIGSTOP)
        os.kill(stack.child("asr").pid, signal.SIGKILL)
        answer = await http.post("/v1/alignments", files={"audio": b"RIFF"})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert int(answer.headers["retry-after"]) >= 1
        await until_ready(stack)
        os.kill(stack.child("vision").pid, signal.SIGKILL)
        answer = await http.post("/v1/images", files={"image": picture()})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        await until_ready(stack)
        assert (await http.post("/v1/images", files={"image": picture()})).status_code == 200


async def test_a_killed_gateway_and_redis_come_back(stack: Running):
    """Both are restarted where they were; a session goes on while Redis hangs, warned, and is acked by the next one."""
    before = pids(stack)
    async with talking(stack) as talk:
        os.kill(before["redis"], signal.SIGSTOP)
        await talk.send(media(1, 1, 0, sound(1.0)))
        await talk.send({"type": "flush", "marker": "m"})
        await talk.until("marker")
        warning = await asyncio.wait_for(talk.until("warning"), 5)
        assert warning["code"] == "not_durable"
        assert talk.of("ack") == []
        await eventually(lambda: not psutil.pid_exists(before["redis"]))
        assert (await asyncio.wait_for(talk.until("ack"), 10))["audio_seq"] == 1
    await until_ready(stack)
    before = pids(stack)
    os.kill(before["redis"], signal.SIGKILL)
    os.kill(before["gateway"], signal.SIGKILL)
    await asyncio.sleep(0.5)
    await until_ready(stack)
    assert {part for part, pid in pids(stack).items() if before[part] != pid} == {"redis", "gateway"}


async def test_a_service_that_hangs_is_replaced(stack: Running):
    """A process that does not answer its health check is ended and started again; its absence counts from its end."""
    pid = stack.child("vision").pid
    os.kill(pid, signal.SIGSTOP)
    await eventually(lambda: not psutil.pid_exists(pid))
    ended_s = time.monotonic()
    await until_ready(stack)
    assert stack.child("vision").pid != pid
    log = stack.home / "up.log"
    await eventually(lambda: "vision is back" in log.read_text())
    back = re.search(r"vision is back after ([\d.]+) s", log.read_text())
    assert back is not None
    # It had run for longer than the two seconds that it may hang.
    assert float(back[1]) < time.monotonic() - ended_s + 1


async def test_sigterm_drains_in_order(tmp_path: Path):
    """Live sessions are told, get everything that was said, and close 1012; then the parts stop one after the other."""
    with running_stack(tmp_path, {**os.environ, **FAKES, "ATTUNE_GATEWAY_DRAIN_S": "2"}) as running:
        children = pids(running)
        async with talking(running) as talk:
            await talk.send(media(1, 1, 0, sound(1.0)))
            await talk.until("transcript.committed")
            running.process.terminate()
            events = await asyncio.wait_for(talk.rest(), 20)
        assert talk.socket.close_code == 1012
        kinds = [event["type"] for event in events]
        assert kinds.index("going_away") < kinds.index("session.ended") == len(kinds) - 1
        assert sum(len(event["words"]) for event in talk.of("transcript.committed")) == 2
        assert running.process.wait(30) == 0
    lines = [line for line in (tmp_path / "up.log").read_text().splitlines() if line.startswith("stopping")]
    assert lines == ["stopping 1/3: gateway", "stopping 2/3: asr, vision, aligner", "stopping 3/3: redis"]
    assert not any(psutil.pid_exists(pid) for pid in children.values())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_start_can_be_broken_off(tmp_path: Path, number: int, code: int):
    """A signal before everything is ready ends what was started, and nothing is said to be ready."""
    command = [sys.executable, "-m", "services.cli", "up", "--port", "0", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, **FAKES}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        root = psutil.Process(process.pid)
        asyncio.run(eventually(lambda: len(root.children()) == 5))
        children = root.children()
        children[-1].suspend()  # so it is never ready
        process.send_signal(number)
        said, _ = process.communicate(timeout=10)
    assert (process.returncode, said) == (code, "")
    assert not any(child.is_running() for child in children)


async def test_a_killed_stack_leaves_nothing_behind(stack: Running):
    """Kill -9 of `attune up` itself ends every process at once; the next start removes the folder of sockets."""
    children = pids(stack)
    sockets = Path(stack.processes["redis"].removeprefix("unix://")).parent
    stack.process.kill()
    await eventually(lambda: not any(psutil.pid_exists(pid) for pid in children.values()))
    assert sockets.exists()
    with running_stack(stack.home, {**os.environ, **FAKES}):
        assert not sockets.exists()


def test_a_folder_takes_one_stack(stack: Running):
    """A second start in the same folder would share its files: it is refused and changes nothing."""
    command = [sys.executable, "-m", "services.cli", "up", "--port", "0"]
    done = subprocess.run(command, cwd=stack.home, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert "another attune up runs in this folder" in done.stderr
    assert httpx.get(f"{stack.url}/readyz").status_code == 200


def test_a_service_that_drains_is_not_taken_for_one_that_hangs():
    """A service answers no health check while it drains: by default it is done before the stack loses patience."""
    drain_s = inspect.signature(cli.serve).parameters["drain_s"].default
    assert drain_s < StackSettings.model_fields["hang_s"].default


@pytest.mark.parametrize("command", ["up", "gateway"])
def test_a_busy_port_is_said_and_exits_2(tmp_path: Path, command: str):
    """A second start on a port that is taken changes nothing and says in one line what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = attune(tmp_path, command, "--port", port)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line != "starting …"]
    assert len(lines) == 1
    assert f"port {port} on 127.0.0.1 is taken" in lines[0]


@pytest.mark.parametrize("command", ["up", "gateway"])
@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_a_host_that_is_not_here_is_said_and_exits_2(tmp_path: Path, command: str, host: str):
    """A name that means nothing, and an address of another machine, are not called taken."""
    done = attune(tmp_path, command, "--port", "0", "--host", host)
    assert done.returncode == 2
    assert host in done.stderr
    assert "taken" not in done.stderr
    assert "Traceback" not in done.stderr


def attune(home: Path, *arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run a command that is expected to end by itself."""
    command = [sys.executable, "-m", "services.cli", *arguments]
    whole = {**os.environ, **env}
    return subprocess.run(command, cwd=home, env=whole, capture_output=True, text=True, timeout=20, check=False)


def test_check_prints_one_object(tmp_path: Path):
    """The settings of every process that `up` starts, by its name; secrets are hidden."""
    done = attune(tmp_path, "up", "--check", ATTUNE_REDIS_URL="redis://:secret@localhost")
    assert set(json.loads(done.stdout)) == {"up", "gateway", "asr", "vision", "aligner"}
    assert "secret" not in done.stdout
    assert set(json.loads(attune(tmp_path, "serve", "asr", "aligner", "--check").stdout)) == {
        "scheduler",
        "asr",
        "aligner",
    }


@pytest.mark.parametrize("number", ["nan", "inf", "0"])
def test_a_time_that_is_none_is_refused(tmp_path: Path, number: str):
    """Options that are times take finite numbers within their bounds."""
    done = attune(tmp_path, "stream", "--seconds", number)
    assert done.returncode == 2
    assert "--seconds" in done.stderr


def test_settings_that_are_wrong_are_said_and_exit_2(tmp_path: Path):
    """A misspelt or impossible setting is named, not ignored."""
    for variable, value in (
        ("ATTUNE_GATEWAY_PROT", "1"),
        ("ATTUNE_GATEWAY_PORT", "99999"),
        ("ATTUNE_UP_HANG_S", "x"),
        ("ATTUNE_ASR_WORKERS", "0"),
        ("ATTUNE_VISION_NOTHING", "1"),
    ):
        done = attune(tmp_path, "up", **{variable: value})
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert variable.lower() in done.stderr.lower() or variable.split("_", 2)[2].lower() in done.stderr


def test_services_share_a_process_when_asked(tmp_path: Path):
    """`attune serve asr vision aligner` hosts all three on one address, and SIGTERM ends it cleanly."""
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    command = [sys.executable, "-m", "services.cli", "serve", "asr", "vision", "aligner", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, **FAKES}, stderr=subprocess.PIPE, text=True
    ) as served:
        assert served.stderr is not None
        address = served.stderr.readline().split()[-1]
        with grpc.insecure_channel(address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            for name in ("SpeechRecognizer", "VisionEncoder", "CrossModalAligner"):
                answer = stub.Check(health_pb2.HealthCheckRequest(service=f"attune.v1.{name}"), timeout=5)
                assert answer.status == health_pb2.HealthCheckResponse.SERVING
        served.terminate()
        assert served.wait(20) == 0


async def test_the_metrics_of_a_service_are_served_beside_it(tmp_path: Path):
    """`--metrics-port` opens /metrics on the same host, with what the batchers count."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "services.cli", "serve", "aligner", "--listen", "127.0.0.1:0"]
    served = await asyncio.create_subprocess_exec(
        *command,
        *("--metrics-port", str(port)),
        cwd=tmp_path,
        env={**os.environ, **FAKES},
        stderr=asyncio.subprocess.PIPE,
    )
    assert served.stderr is not None
    assert "serving" in (await asyncio.wait_for(served.stderr.readline(), 30)).decode()
    async with httpx.AsyncClient() as client:
        text = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
    assert 'attune_batch_not_run_total{batcher="aligner.read",why="overloaded"} 0.0' in text
    served.terminate()
    assert await asyncio.wait_for(served.wait(), 20) == 0
