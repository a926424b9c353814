"""The names of ImageNet's 1000 classes, in the order of the vision service's posteriors. The scorers read them."""

import runpy

from services.inference.weights import package_file

SPACE = "imagenet-1k"
COUNT = 1000


def class_names() -> tuple[str, ...]:
    """Return the class names that torchvision lists; ValueError when they are not 1000."""
    # The file alone: importing torchvision costs a second and 150 MB, and nothing else of it is used here.
    names = tuple(runpy.run_path(str(package_file("torchvision", "models/_meta.py")))["_IMAGENET_CATEGORIES"])
    if len(names) != COUNT:
        raise ValueError(f"torchvision lists {len(names)} ImageNet classes, not {COUNT}")
    return names
