"""The device and the memory it copies from."""

import torch

from services.inference.arena import Arena
from services.inference.device import pick_device, pinned


def test_shared_memory_is_pinned_for_a_device_that_copies_by_itself():
    """On CUDA the slots are pinned as long as the model is there, and not after; on CPU never."""
    device = pick_device("auto")
    with Arena(2, 5000) as arena:
        image = torch.from_numpy(arena.array(1, (20, 20, 3)))
        with pinned(device, arena.all_bytes):
            image[:] = 7
            assert image.is_pinned() == (device.type == "cuda")
            assert int(image.to(device, non_blocking=True).sum()) == 7 * 1200
        assert not image.is_pinned()
