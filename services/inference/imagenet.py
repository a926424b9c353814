"""ImageNet's 1000 classes: the space that the vision service's region tokens and the aligner's scorers share.

torchvision carries the names; importing it costs a second and 160 MB, so its file of names is read as text.
"""

import ast

from services.inference.weights import package_file

SPACE = "imagenet-1k"
COUNT = 1000

_VARIABLE = "_IMAGENET_CATEGORIES"


def class_names() -> tuple[str, ...]:
    """Return the names in the order of a classifier's outputs; LookupError where torchvision no longer keeps them."""
    source = package_file("torchvision", "models/_meta.py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == _VARIABLE:
            names = tuple(ast.literal_eval(node.value))
            if len(names) == COUNT:
                return names
    raise LookupError(f"torchvision's models/_meta.py has no {_VARIABLE} of {COUNT} names")
