"""The names of ImageNet's 1000 classes, in the order of a classifier's outputs. Used by the models.

torchvision carries them; importing it costs a second and 160 MB, so its file of names is read as text.
"""

import ast

from services.inference.weights import package_file

_VARIABLE = "_IMAGENET_CATEGORIES"


def imagenet_class_names() -> tuple[str, ...]:
    """Return the 1000 names; LookupError where torchvision no longer keeps them in its file of metadata."""
    source = package_file("torchvision", "models/_meta.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == _VARIABLE:
            return tuple(ast.literal_eval(node.value))
    raise LookupError(f"torchvision's models/_meta.py has no {_VARIABLE}")
