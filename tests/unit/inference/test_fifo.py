"""First come, first served."""

from services.inference.fifo import Fifo
from services.inference.profile import Load, LoadProfile
from services.inference.room import Room
from services.inference.scheduler import Request


def fifo() -> Fifo:
    profile = LoadProfile()
    profile.expect("half", Load(0.5, 0, 0, 0, 1))
    profile.expect("most", Load(0.8, 0, 0, 0, 1))
    return Fifo(profile, Room(1.0))


def request(number: int, kind: str = "half", arrived_s: float = 0.0, live: bool = True) -> Request:
    return Request(number, kind, arrived_s, 1.0, live)


def test_the_order_is_that_of_arrival_whatever_the_class():
    """Also where an earlier arrival is told of later, as a batcher does when its head changes."""
    order = fifo()
    waiting = [request(1, arrived_s=2), request(2, arrived_s=1, live=False)]
    for one in waiting:
        order.add(one, 2)
    assert order.next(2) == waiting[1]
    assert order.next(2) == waiting[0]
    assert order.rank(waiting[0], 9) == 2


def test_the_head_holds_up_all_others_until_it_fits():
    """Nothing passes it, and when it leaves the next one runs."""
    order = fifo()
    first, large, small = request(1), request(2, "most"), request(3)
    for one in (first, large, small):
        order.add(one, 0)
    assert order.next(0) == first
    assert order.next(0) is None
    order.leave(large)
    assert order.next(0) == small
    order.ended(first)
    order.ended(small)
    assert (len(order), len(order.room)) == (0, 0)
