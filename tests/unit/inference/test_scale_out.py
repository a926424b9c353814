"""When another device is wanted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.inference.scale_out import ScaleOut


@pytest.mark.parametrize(
    ("samples", "wanted"),
    [
        ([0.83, 0.83], False),
        ([0.83, 0.9, 1.0], True),
        ([0.9, 0.9, 0.82], False),
        ([0.9, 0.9, 0.5, 0.9, 0.9], False),
        ([0.9, 0.9, 0.9, 0.9], True),
    ],
)
def test_three_samples_in_a_row_above_82_percent(samples: list[float], wanted: bool):
    """82 % itself is not above, and one lower sample starts the count again."""
    scale_out = ScaleOut()
    assert [scale_out.observe(sample) for sample in samples][-1] is wanted


@given(st.lists(st.floats(0, 1)))
def test_the_answer_depends_on_the_last_three_alone(samples: list[float]):
    """Wanted exactly when the last three samples are all above."""
    scale_out = ScaleOut()
    for at, sample in enumerate(samples):
        last = samples[max(0, at - 2) : at + 1]
        assert scale_out.observe(sample) == (len(last) == 3 and min(last) > 0.82)
