"""Finds weights that ship as packages and checks their bytes before anything reads them."""

import hashlib
from importlib.util import find_spec
from pathlib import Path


def package_file(package: str, relative: str) -> Path:
    """Return the path of a file in an installed package, without importing the package.

    FileNotFoundError naming the package where it is not installed.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"the package {package} that carries {relative} is not installed")
    return Path(next(iter(spec.submodule_search_locations))) / relative


def verified(path: Path, sha256: str) -> Path:
    """Return ``path`` when its SHA-256 is the one given; ValueError with both sums when it is not."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise ValueError(f"{path.name} is not the file it should be: SHA-256 {found}, expected {sha256}")
    return path
