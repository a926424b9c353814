"""The REST calls: whole files in, typed answers out.

Callers write ``async with Attune(url) as client``. Every failure is an AttuneError.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

import httpx

from attune_client.decode import from_json
from attune_client.errors import AttuneError, error_from_problem
from attune_client.events import Alignment, Coverage, Frame, Label, Region, Warned, Word
from attune_client.wire import address_parts

FileLike: TypeAlias = Path | str | bytes
T = TypeVar("T")

# A file route may take 30 s and the audio's length.
DEFAULT_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class AlignmentResult:
    """A whole recording with its images: what was said, seen and matched.

    ``timing`` is the server's: microseconds by stage (``asr_us``, ``vision_us``, ``align_us``) and ``total_us``.
    """

    id: str
    duration_us: int
    words: tuple[Word, ...]
    frames: tuple[Frame, ...]
    alignments: tuple[Alignment, ...]
    coverage: Coverage | None = None
    degraded: tuple[Any, ...] = ()
    warnings: tuple[Warned, ...] = ()
    models: Any = None
    timing: Any | None = None


@dataclass(frozen=True)
class ImageError:
    """Why one image could not be described."""

    code: str
    message: str


@dataclass(frozen=True)
class ImageResult:
    """What one image shows, or the error it caused."""

    id: str | None = None
    labels: tuple[Label, ...] = ()
    regions: tuple[Region, ...] = ()
    embedding: tuple[float, ...] | None = None
    input: Any = None
    error: ImageError | None = None


@dataclass(frozen=True)
class Model:
    """A model the server offers."""

    id: str
    owned_by: str = ""


@dataclass(frozen=True)
class _Images:
    images: tuple[ImageResult, ...]


@dataclass(frozen=True)
class _Models:
    data: tuple[Model, ...]


class Attune:
    """A server's REST calls over one connection pool; use it as an async context manager."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        traceparent: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        address_parts(url)
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        headers |= {"traceparent": traceparent} if traceparent else {}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=httpx.Timeout(timeout_s, connect=10.0))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def align(
        self,
        *,
        audio: FileLike,
        images: Sequence[tuple[FileLike, int]] = (),
        language: str | None = None,
        idempotency_key: str | None = None,
    ) -> AlignmentResult:
        """Return what is said in ``audio`` and which of the ``images`` (file, time it was shown in µs) it is about.

        The same ``idempotency_key`` with the same files returns the first answer again.
        """
        data: dict[str, Any] = {"images_pts_us": [str(pts_us) for _, pts_us in images]}
        data |= {"language": language} if language else {}
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        files = [("audio", audio), *(("images", image) for image, _ in images)]
        answer = await self._upload("/v1/alignments", files, data=data, headers=headers)
        return _read(AlignmentResult, answer)

    async def describe_images(self, images: Sequence[FileLike]) -> list[ImageResult]:
        """Return labels and regions of each image, in the order given; a bad one has its ``error`` set."""
        answer = await self._upload("/v1/images", [("image", image) for image in images])
        return list(_read(_Images, answer).images)

    async def models(self) -> list[Model]:
        """Return the models the server offers."""
        return list(_read(_Models, await self._request("GET", "/v1/models")).data)

    async def ready(self) -> bool:
        """Return whether the server and all it needs are ready."""
        try:
            await self._request("GET", "/readyz")
        except AttuneError as error:
            if error.code == "unavailable":
                return False
            raise
        return True

    async def metrics(self) -> str:
        """Return the server's metrics in the Prometheus text format."""
        return (await self._request("GET", "/metrics")).text

    async def _upload(self, path: str, files: Sequence[tuple[str, FileLike]], **request: Any) -> httpx.Response:
        parts = [(field, await asyncio.to_thread(_part, file)) for field, file in files]
        return await self._request("POST", path, files=parts, **request)

    async def _request(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            answer = await self._http.request(method, path, **request)
        except httpx.TimeoutException as error:
            raise AttuneError("deadline_exceeded", f"no answer from {path} in time", retryable=True) from error
        except httpx.HTTPError as error:
            message = f"cannot reach {self._http.base_url}: {error}"
            raise AttuneError("unavailable", message, retryable=True) from error
        if answer.is_success:
            return answer
        raise error_from_problem(answer.status_code, _json(answer), answer.headers.get("Retry-After"))


def _part(file: FileLike) -> tuple[str, bytes]:
    if isinstance(file, bytes):
        return ("file", file)
    try:
        return (Path(file).name, Path(file).read_bytes())
    except OSError as error:
        raise AttuneError("invalid_input", f"cannot read {file}: {error.strerror}") from error


def _json(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None


def _read(kind: type[T], answer: httpx.Response) -> T:
    try:
        return from_json(kind, _json(answer))
    except ValueError as error:
        raise AttuneError("bad_answer", f"the server's answer cannot be read: {error}") from error
