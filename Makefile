# `make demo` and `make test` are all that a newcomer needs: Python 3.10 or newer, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help demo test test-standalone setup-tests fuzz lint bench fmus format clean

help:
	@echo "make demo    build the FMUs for this processor, drive through the yard, write a report"
	@echo "make test    run all tests, and install the programs they need where that is allowed"
	@echo "make setup-tests   install these programs only (Debian packages; root or sudo)"
	@echo "make test-standalone   build every FMU standalone, and run each where there is nothing"
	@echo "make fuzz    look for crashes with random calls and scenes, for long"
	@echo "make lint    check style, types and the layers of the code"
	@echo "make bench   measure the speed bars against their peers, and install what these need"
	@echo "make fmus    build the FMUs into build/fmus, for all x86-64 processors since 2009"
	@echo "make format  put the code into the form that lint checks"
	@echo "make clean   remove what was built and installed here"

$(VENV)/installed: pyproject.toml
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..."
	@$(PIP) install --quiet --upgrade pip # that of Python 3.10 does not get done with the versions
	@$(PIP) install --quiet --editable ".[test]"
	@touch $@

# The peers of the benchmarks are large, and nothing else needs them.
$(VENV)/bench-installed: $(VENV)/installed
	@echo "installing the peers of the benchmarks into $(VENV) ..."
	@$(PIP) install --quiet --editable ".[bench]"
	@touch $@

fmus: $(VENV)/installed
	$(BIN)/python build_fmus.py --ssp $(LEVELS)

# Compiling kernels for other processors, too, takes minutes more.
demo: LEVELS := --levels host
demo: fmus
	$(BIN)/python examples/demo.py

# Before the environment, which Debian's Python cannot make without a package of its own.
TOOLS := $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m tests.tools

test:
	@$(TOOLS) --if-possible
	@$(MAKE) --no-print-directory $(VENV)/installed
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

# The tests of standalone FMUs with all of them: minutes of building more, so not at each run.
test-standalone: $(VENV)/installed
	$(BIN)/python -m pytest --all-standalone tests/masters/test_standalone.py

setup-tests:
	@$(TOOLS)

fuzz: $(VENV)/installed
	$(BIN)/python -m tests.fuzz

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench:
	@$(TOOLS) --bench --if-possible
	@$(MAKE) --no-print-directory $(VENV)/bench-installed
	$(BIN)/python -m tests.bench

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf build $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache *.egg-info
