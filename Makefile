# The two commands a newcomer needs are `make demo` and `make test`; everything they use is installed on the way.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo up test unit lint proto clean

demo: .venv/.all
	$(BIN)/attune demo

up: .venv/.all
	$(BIN)/attune up

test: lint
	$(BIN)/pytest -q

unit: .venv/.dev
	$(BIN)/pytest -q tests/unit tests/contract

lint: .venv/.dev
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/lint-imports --no-logo >.venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }
	$(BIN)/mypy >.venv/mypy.log || { cat .venv/mypy.log; exit 1; }

proto: .venv/.dev
	$(BIN)/python -m grpc_tools.protoc -Iproto --python_out=proto --pyi_out=proto --grpc_python_out=proto proto/attune/v1/*.proto

clean:
	rm -rf .venv .attune demo-out

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Attune needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

# Only new pins bring a new installation; the code itself is used in place.
.venv/.all: pyproject.toml constraints.txt | .venv/bin/python
	@echo "installing (a few minutes the first time) …"
	$(PIP) --editable '.[all]'
	@touch $@

.venv/.dev: .venv/.all
	$(PIP) --editable '.[dev]'
	@touch $@
