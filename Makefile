# `make demo` and `make test` are all that a newcomer needs: Python 3.10 or newer, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help demo docs validate test test-standalone test-aarch64 test-lowest setup-tests exports \
	interfaces fuzz mutants lint bench fmus release format clean

help:
	@echo "make demo    build the FMUs for this processor, drive through the yard, write a report"
	@echo "make test    run all tests, and install the programs they need where that is allowed"
	@echo "make setup-tests   install these programs only (Debian packages; root or sudo)"
	@echo "make validate  run the FMUs against published measurements, and write results and documents"
	@echo "make docs    make the site of the documents in build/site"
	@echo "make test-standalone   build every FMU standalone, and run each where there is nothing"
	@echo "make test-aarch64   run sensors of FMI 3.0 on an emulated ARM, on Debian and its relatives"
	@echo "make test-lowest   test with the lowest versions of all packages that are declared"
	@echo "make fuzz    look for crashes with random calls and scenes, for long"
	@echo "make mutants put small errors into kernels, to see whether tests notice, for long"
	@echo "make lint    check style, types and the layers of the code"
	@echo "make exports run every FMU in many ways, and write which kernels FMUs carry"
	@echo "make interfaces   write down the variables of all FMUs, which a test compares them with"
	@echo "make bench   measure the speed bars against their peers, and install what these need"
	@echo "make fmus    build the FMUs into build/fmus, for all x86-64 processors since 2009"
	@echo "make release [SIGN=KEY]   wheel, sources, FMUs and their digests in build/release"
	@echo "make format  put the code into the form that lint checks"
	@echo "make clean   remove what was built and installed here"

# Runs what may take minutes and says nothing: a dot each five seconds.
PAUSE := 5
DOTS = ( while sleep $(PAUSE) >/dev/null 2>&1; do printf .; done ) & dots=$$!; trap "kill $$dots; echo" EXIT;

# What the demo needs is a third of what the tests need. Errors are printed, warnings are not: those
# of a build in place are about this project's form, and those of an index about the machine.
$(VENV)/demo-installed: pyproject.toml
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@printf "installing what the demo needs into $(VENV) ..."
	@$(PIP) install -qq --upgrade pip # that of Python 3.10 does not get done with the versions
	@$(DOTS) $(PIP) install -qq --editable ".[demo]"
	@touch $@

$(VENV)/installed: $(VENV)/demo-installed
	@printf "installing what the tests need into $(VENV) ..."
	@$(DOTS) $(PIP) install -qq --editable ".[test]"
	@touch $@

# The peers of the benchmarks are large, and nothing else needs them.
$(VENV)/bench-installed: $(VENV)/installed
	@printf "installing the peers of the benchmarks into $(VENV) ..."
	@$(DOTS) $(PIP) install -qq --editable ".[bench]"
	@touch $@

fmus: $(VENV)/demo-installed
	$(BIN)/python build_fmus.py --ssp $(FOR)

# Steps around it: CONTRIBUTING.md, "Releases".
release: $(VENV)/installed
	$(BIN)/python -m fmus.building.release build/release $(if $(SIGN),--sign $(SIGN))

# All rows and presets: some minutes, and what the project keeps of them is written anew.
validate: $(VENV)/demo-installed
	$(BIN)/sensor-fmus validate --update

docs: $(VENV)/installed
	$(BIN)/mkdocs build --strict --quiet
	@echo build/site/index.html

# Compiling for other processors and systems, too, takes minutes more.
demo: FOR := --levels host --platforms host
demo: fmus
	$(BIN)/python examples/demo.py

# Before the environment, which Debian's Python cannot make without a package of its own.
TOOLS := $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m tests.tools

test:
	@$(TOOLS) --if-possible
	@$(MAKE) --no-print-directory $(VENV)/installed
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# The tests of standalone FMUs with all of them: minutes of building more, so not at each run.
test-standalone: $(VENV)/installed
	$(BIN)/python -m pytest --all-standalone tests/masters/test_standalone.py

# Not at each run: it takes programs for ARM, and an emulator is slow.
test-aarch64: $(VENV)/installed
	$(BIN)/python -m tests.arm64
	$(BIN)/python -m pytest tests/masters/test_aarch64.py

# Not at each run: another environment, for which all kernels are compiled.
LOWEST := .venv-lowest
$(LOWEST)/installed: pyproject.toml tests/lowest.py
	@test -d $(LOWEST) || $(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/python -m tests.lowest > $(LOWEST)/constraints.txt
	@echo "installing into $(LOWEST) ..."
	@$(LOWEST)/bin/python -m pip --disable-pip-version-check install --quiet \
		--constraint $(LOWEST)/constraints.txt --editable ".[demo]" \
		filelock hypothesis pymap3d pytest pytest-xdist scipy
	@touch $@

test-lowest: $(LOWEST)/installed
	$(LOWEST)/bin/python -m pytest -p no:warnings -n auto --maxprocesses 4 --dist loadfile \
		tests/fmus/building/test_exports.py tests/sensor_models/kernels

setup-tests:
	@$(TOOLS)

exports: $(VENV)/installed
	$(BIN)/python -m tests.exports

interfaces: $(VENV)/installed
	$(BIN)/python -m tests.interfaces

fuzz: $(VENV)/installed
	$(BIN)/python -m tests.fuzz

mutants: $(VENV)/installed
	$(BIN)/python -m tests.mutants

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
