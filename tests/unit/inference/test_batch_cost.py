"""Learning what batches cost."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.inference.cost import CostModel, Shape, alone
from tests.unit.inference.batch_world import padded_cost

SHAPES = st.builds(
    lambda sizes: Shape(len(sizes), sum(sizes), max(sizes)), st.lists(st.floats(0.1, 1000), min_size=1, max_size=32)
)


def trained(noise: float = 0.0) -> CostModel:
    """Return a model that saw 300 batches of short or long requests."""
    rng = random.Random(0)
    model = CostModel()
    for _ in range(300):
        count, size = rng.randint(1, 32), rng.choice([1.0, 10.0])
        shape = Shape(count, count * size, size)
        model.observe(shape, padded_cost(shape) * (1 + noise * rng.uniform(-1, 1)))
    return model


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("shape", [alone(1.0), Shape(32, 32.0, 1.0), alone(10.0), Shape(16, 160.0, 10.0)])
def test_seen_costs_are_learnt_through_noise(noise: float, shape: Shape):
    """After 300 batches the cost is known within 15 %, though single ones were 30 % off."""
    assert trained(noise).seconds(shape) == pytest.approx(padded_cost(shape), rel=0.15)


def test_nothing_seen_costs_nothing():
    """Before the first batch nothing is known, and nothing is claimed."""
    model = CostModel()
    model.observe(alone(1.0), 0.0)
    assert not model.known
    assert model.seconds(alone(1.0)) == 0


def test_what_company_saves_is_the_part_that_does_not_grow():
    """Joining saves the fixed cost of a batch of its own: 4.4 ms of this model."""
    assert trained().saving(alone(1.0)) == pytest.approx(0.0044, rel=0.2)


def test_old_costs_are_forgotten():
    """A device that became twice as slow is believed after some hundreds of batches."""
    model = trained()
    for _ in range(500):
        model.observe(alone(1.0), 2 * padded_cost(alone(1.0)))
    assert model.seconds(alone(1.0)) == pytest.approx(2 * padded_cost(alone(1.0)), rel=0.1)


@given(st.lists(st.tuples(SHAPES, st.floats(1e-4, 10)), max_size=20), SHAPES, st.floats(0.1, 1000))
def test_a_batch_never_gets_cheaper_by_a_request(seen: list[tuple[Shape, float]], shape: Shape, size: float):
    """Whatever was seen, expected costs are never negative and never fall when a request joins."""
    model = CostModel()
    for other, seconds in seen:
        model.observe(other, seconds)
    assert 0 <= model.seconds(shape) <= model.seconds(shape.plus(size)) * (1 + 1e-9)
