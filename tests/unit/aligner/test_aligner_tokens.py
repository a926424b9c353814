"""Which region tokens are taken."""

from dataclasses import replace

import numpy as np
import pytest

from services.aligner.tokens import Accepted, grid_of
from services.common.errors import AttuneError, InvalidInput, NotFound, TooLarge
from services.common.types import RegionTokenHandle, RegionTokens

ACCEPTED = Accepted("imagenet-1k", 3, 4)
CELLS = np.arange(6, dtype=np.float16)
TOKENS = RegionTokens("imagenet-1k", 1, 2, 3, CELLS.tobytes(), CELLS[:3].tobytes())


def test_tokens_become_arrays() -> None:
    """Cells come row by row, the pooled vector beside them."""
    grid = grid_of(TOKENS, ACCEPTED)
    assert grid.cells.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert grid.pooled.tolist() == [0, 1, 2]


def test_an_unknown_handle_is_not_found() -> None:
    """Tokens this process does not hold are not found, so that the frame is encoded again."""
    with pytest.raises(NotFound) as caught:
        grid_of(RegionTokenHandle("elsewhere", "7"), ACCEPTED)
    assert caught.value.param == "tokens"


def test_another_space_is_refused_by_name() -> None:
    """The refusal names the space that can be used."""
    with pytest.raises(InvalidInput, match="only 'imagenet-1k'"):
        grid_of(replace(TOKENS, space="clip"), ACCEPTED)


@pytest.mark.parametrize(
    ("tokens", "error"),
    [
        (replace(TOKENS, dim=2), InvalidInput),
        (replace(TOKENS, rows=0), InvalidInput),
        (replace(TOKENS, cols=-2), InvalidInput),
        (replace(TOKENS, cells=b"123"), InvalidInput),
        (replace(TOKENS, pooled=b""), InvalidInput),
        (replace(TOKENS, pooled=np.array([0, 1, np.nan], np.float16).tobytes()), InvalidInput),
        (replace(TOKENS, cells=np.array([np.inf] * 6, np.float16).tobytes()), InvalidInput),
        (replace(TOKENS, rows=3), TooLarge),
    ],
)
def test_impossible_tokens_are_refused(tokens: RegionTokens, error: type[AttuneError]) -> None:
    """Wrong sizes, values that are not finite and too many cells are the caller's error, said of the tokens."""
    with pytest.raises(error) as caught:
        grid_of(tokens, ACCEPTED)
    assert caught.value.param == "tokens"
