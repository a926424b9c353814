"""The real network on its real weights."""

import numpy as np
import pytest
import skimage.data
import torch
from PIL import Image

from services.inference.imagenet import class_names
from services.inference.weights import package_file
from services.vision.models import efficientnet
from services.vision.models.efficientnet import EfficientNetLite0, for_inference, load_network


@pytest.fixture(scope="module")
def network():
    return EfficientNetLite0(torch.device("cpu"))


def pixels(photograph, size):
    return np.array(Image.fromarray(photograph()).convert("RGB").resize(size, Image.Resampling.BICUBIC))


@pytest.mark.parametrize(
    ("photograph", "names"),
    [
        (skimage.data.chelsea, {"tabby", "tiger cat", "Egyptian cat"}),
        (skimage.data.coffee, {"espresso", "cup", "eggnog"}),
    ],
)
def test_photographs_are_named(network, photograph, names):
    """The best of a thousand classes is one that a person could give."""
    best = network.encode(pixels(photograph, (448, 320))[None])[0].pooled.argmax()
    assert class_names()[best] in names


def test_each_cell_has_probabilities_of_its_own(network):
    """32 pixels are a cell, and each cell's probabilities sum to one."""
    (features,) = network.encode(pixels(skimage.data.chelsea, (320, 224))[None])
    assert features.cells.shape == (7, 10, 1000)
    assert (features.pooled.shape, features.embedding.shape) == ((1000,), (1280,))
    assert features.cells.dtype == features.pooled.dtype == np.float16
    assert np.allclose(features.cells.sum(axis=2, dtype=np.float32), 1, atol=5e-3)
    assert features.device_us > 0


def test_a_collage_is_told_apart_by_place(network):
    """Cat left and coffee right: each half's cells name what is there."""
    halves = [pixels(photograph, (224, 224)) for photograph in (skimage.data.chelsea, skimage.data.coffee)]
    cells = network.encode(np.hstack(halves)[None])[0].cells.astype(np.float32)
    names = class_names()
    for name, half in (("Egyptian cat", cells[:, :7]), ("espresso", cells[:, 7:])):
        there = half[..., names.index(name)].mean()
        assert there > 10 * (cells[..., names.index(name)].mean() * 2 - there)


def test_folding_the_normalisation_changes_nothing():
    """The prepared network gives the features of the published one."""
    image = torch.rand(1, 3, 64, 96)
    with torch.inference_mode():
        published = load_network().extract_features(image)
        prepared = for_inference(load_network()).extract_features(image)
    assert torch.allclose(published, prepared, atol=1e-4)


def test_the_pooled_probabilities_are_those_of_the_published_network(network):
    """Averaging the cells' logits is the classifier on the averaged features."""
    photograph = pixels(skimage.data.coffee, (224, 224))
    image = (torch.from_numpy(photograph).permute(2, 0, 1)[None].float() - 127) / 128
    with torch.inference_mode():
        published = load_network()(image).softmax(-1)[0].numpy()
    assert np.abs(network.encode(photograph[None])[0].pooled - published).max() < 2e-3


def test_an_image_is_seen_alike_alone_and_among_others(network):
    """A batch gives each image its own features, those it has alone."""
    images = np.stack([pixels(photograph, (320, 224)) for photograph in (skimage.data.chelsea, skimage.data.coffee)])
    for image, features in zip(images, network.encode(images), strict=True):
        (alone,) = network.encode(image[None])
        assert np.abs(features.embedding - alone.embedding).max() < 1e-4
        assert np.abs(features.cells.astype(np.float32) - alone.cells).max() < 2e-3


def test_changed_weights_are_refused(tmp_path, monkeypatch):
    """Not one byte is read as weights before the file's sum is right."""
    data = bytearray(package_file(*efficientnet.WEIGHTS).read_bytes())
    data[-1] ^= 1
    (tmp_path / "weights.pth").write_bytes(data)
    monkeypatch.setattr(efficientnet, "package_file", lambda *_: tmp_path / "weights.pth")
    with pytest.raises(ValueError, match="SHA-256"):
        load_network()


def test_the_class_names_are_torchvisions():
    """A thousand different names in ImageNet's order, read without loading torchvision."""
    names = class_names()
    assert len(set(names)) == 1000
    assert (names[0], names[281], names[999]) == ("tench", "tabby", "toilet tissue")
