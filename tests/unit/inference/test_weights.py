"""Weights are checked before they are read."""

from pathlib import Path

import pytest

from services.inference.weights import package_file, verified


def test_the_right_bytes_pass_and_others_do_not(tmp_path: Path):
    """A file with another SHA-256 is refused with both sums."""
    file = tmp_path / "w.bin"
    file.write_bytes(b"abc")
    right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert verified(file, right) == file
    file.write_bytes(b"abd")
    with pytest.raises(ValueError, match=right):
        verified(file, right)


def test_a_package_is_found_without_importing_it():
    """A file's path comes from the installed package; a missing package is named."""
    assert package_file("pytest", "py.typed").name == "py.typed"
    with pytest.raises(FileNotFoundError, match="no_such_package"):
        package_file("no_such_package", "x")
