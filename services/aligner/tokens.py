"""Turns a frame's region tokens into arrays, or says why they cannot be used. The scorers call it, on a worker."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from services.common.errors import InvalidInput, NotFound, TooLarge
from services.common.types import RegionTokenHandle, RegionTokens

Half = npt.NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Grid:
    """Region tokens as arrays: ``cells`` is ``[rows * cols, dim]`` row by row, ``pooled`` is ``[dim]``."""

    rows: int
    cols: int
    cells: Half
    pooled: Half


@dataclass(frozen=True, slots=True)
class Accepted:
    """The tokens a scorer can use."""

    space: str
    dim: int
    max_cells: int


def grid_of(tokens: RegionTokens | RegionTokenHandle, accepted: Accepted) -> Grid:
    """Return the tokens as arrays that share their bytes.

    NotFound for a handle, InvalidInput for another space, a wrong size or values that are not finite, TooLarge for
    more cells than accepted.
    """
    if isinstance(tokens, RegionTokenHandle):
        raise NotFound(f"this process holds no tokens {tokens.id!r} of {tokens.process!r}", param="tokens")
    _check_kind(tokens, accepted)
    cells = _array(tokens.cells, tokens.rows * tokens.cols, tokens.dim)
    pooled = _array(tokens.pooled, 1, tokens.dim)[0]
    if not (np.isfinite(cells).all() and np.isfinite(pooled).all()):
        raise InvalidInput("region tokens hold values that are not finite", param="tokens")
    return Grid(tokens.rows, tokens.cols, cells, pooled)


def _check_kind(tokens: RegionTokens, accepted: Accepted) -> None:
    if tokens.space != accepted.space:
        raise InvalidInput(
            f"tokens of space {tokens.space!r} cannot be used here, only {accepted.space!r}", param="tokens"
        )
    if tokens.dim != accepted.dim or tokens.rows < 1 or tokens.cols < 1:
        found = f"{tokens.rows} x {tokens.cols} x {tokens.dim}"
        raise InvalidInput(f"region tokens are {found}, not rows x cols x {accepted.dim}", param="tokens")
    if tokens.rows * tokens.cols > accepted.max_cells:
        raise TooLarge(f"{tokens.rows} x {tokens.cols} cells, at most {accepted.max_cells} are taken", param="tokens")


def _array(data: bytes, count: int, dim: int) -> Half:
    expected = count * dim * np.dtype(np.float16).itemsize
    if len(data) != expected:
        raise InvalidInput(f"region tokens have {len(data)} bytes where {expected} belong", param="tokens")
    return np.frombuffer(data, np.float16).reshape(count, dim)
