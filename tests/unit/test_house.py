"""The size of things, held by a test because no linter does."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 30
SOURCES = sorted(
    path
    for folder in ("services", "bench", "client")
    for path in (ROOT / folder).rglob("*.py")
    if "__pycache__" not in path.parts
)
# A table that is long and flat: the values that travel.
LONG_MODULES = {"services/common/types.py"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_are_short(path: Path):
    """A module has at most 300 lines, a function 30; a longer function says why in a comment on its first line."""
    text = path.read_text()
    lines = text.splitlines()
    assert len(lines) <= MAX_MODULE_LINES or str(path.relative_to(ROOT)) in LONG_MODULES
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = [
        f"{node.name} ({node.end_lineno - node.lineno + 1} lines)"
        for node in functions
        if node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
        and not any("#" in line for line in lines[node.lineno - 1 : node.body[0].lineno - 1])
    ]
    assert long == []


def test_generated_code_has_no_package_of_its_own():
    """``attune`` is a namespace: an __init__.py in proto/ would hide the installed package."""
    assert list((ROOT / "proto").rglob("__init__.py")) == []
