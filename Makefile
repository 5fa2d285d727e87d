# Each target does the set-up it needs; a fresh machine needs only Python 3.11+ and make.
PYTHON ?= python3
ifeq ($(OS),Windows_NT)
BIN := .venv/Scripts
else
BIN := .venv/bin
endif

# Tests run side by side in processes, so the libraries in each of them use one thread.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist worksteal

.PHONY: help demo test test-fast test-long setup lint types imports tests hooks format docs plots page browser fuzz wheel clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1|\2/p' $(MAKEFILE_LIST) | \
		while IFS='|' read -r name what; do printf '%-10s %s\n' "$$name" "$$what"; done

demo: setup  ## align two generated graphs over six snapshots; the result is everalign-demo.state
	$(BIN)/everalign demo

test: setup lint types imports tests  ## all checks: lint, types, layers, all tests with coverage

test-fast: setup  ## the tests that are not marked slow
	$(PYTEST) -m 'not slow'

test-long: setup  ## the tests that take longest, which `make test` leaves out
	$(PYTEST) -m long

setup: .venv/ready  ## the virtual environment, with everalign in .venv/bin

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'EverAlign needs Python 3.11 or newer: make PYTHON=/path/to/python3.11'; exit 2; }
	@echo 'setting up .venv (a few minutes the first time)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[charts,names,neural,parquet,plots,service,spark,dev,docs]'
	@echo 'compiling the kernels'
	$(BIN)/python -m everalign._kernel_build
	touch $@

lint: setup  ## ruff: mistakes and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup  ## mypy, strictly
	$(BIN)/mypy

imports: setup  ## lint-imports: layers import only the layers below them
	$(BIN)/lint-imports

# Coverage slows Python code down, so only the fast tests are measured.
tests: setup browser  ## all tests but the longest; the fast ones with coverage
	$(PYTEST) -m 'slow and not long'
	$(PYTEST) -m 'not slow' --cov

hooks: setup  ## run the checks before each commit, the fast tests before each push
	$(BIN)/pre-commit install

format: setup  ## let ruff mend and format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup  ## build the documentation into site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

plots: setup  ## figures and tables of the documentation, from benchmarks/results
	$(BIN)/python benchmarks/plots.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/everalign paper --no-run

page: page/node_modules/ready  ## build the review page into src/everalign/service/static (needs node)
	cd page && npm run --silent types && npm run --silent build

page/node_modules/ready: page/package.json page/package-lock.json
	cd page && npm ci
	touch $@

# Where it cannot be had, the tests of the page are skipped, but not where CI=true.
browser: setup  ## find Chromium for the tests of the page, or install Debian's
	$(BIN)/python tests/browser/chromium.py

fuzz: setup  ## read 100,000 damaged files of every format (an hour)
	$(BIN)/python benchmarks/fuzz_readers.py

wheel: setup  ## build the wheel into dist/, with compiled kernels for this Python and platform
	$(BIN)/python -m everalign._kernel_build
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:  ## remove the virtual environment, caches and what was built
	rm -rf .venv site dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage everalign-demo.state
