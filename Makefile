# Each target does the set-up it needs; a fresh machine needs only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test setup lint types imports tests format plots clean

demo: setup  ## align two generated graphs over six snapshots
	$(BIN)/everalign demo

test: setup lint types imports tests  ## all checks

setup: .venv/ready  ## the virtual environment, with everalign in .venv/bin

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'EverAlign needs Python 3.11 or newer: make PYTHON=/path/to/python3.11'; exit 2; }
	@echo 'setting up .venv (a few minutes the first time)'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[names,neural,parquet,plots,dev]'
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

tests: setup
	$(BIN)/pytest

format: setup  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

plots: setup  ## figures and tables of the documentation, from benchmarks/results
	$(BIN)/python benchmarks/plots.py
	$(BIN)/python benchmarks/tables.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
