# The two commands of a fresh machine: `make quickstart` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Without bytecode for all of every package: what is imported compiles itself, and installing takes less than half as long.
PIP := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: install quickstart test check benchmark docs picture lint clean

$(VENV)/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(PIP) --editable '.[test]'
	touch $@

install: $(VENV)/installed  ## create .venv and install the project into it

quickstart: $(VENV)/installed  ## run the bundled quickstart study and write its report
	$(BIN)/robustness sweep quickstart

test: $(VENV)/installed-test  ## run all tests on up to four cores
	$(BIN)/python -m pytest -q --numprocesses auto --maxprocesses 4 --dist loadgroup --no-loadscope-reorder $(ARGUMENTS)

# The packages that training steps are compared with, without the torchvision that two of them name and none needs here.
$(VENV)/installed-benchmark: $(VENV)/installed
	$(PIP) --editable '.[benchmark]'
	$(PIP) --no-deps bayesian-torch blitz-bayesian-pytorch torchbnn
	touch $@

benchmark: $(VENV)/installed-benchmark  ## measure speed as ratios, print a table and write benchmarks.json
	$(BIN)/python benchmarks/all.py $(ARGUMENTS)

$(VENV)/installed-docs: $(VENV)/installed
	$(PIP) --editable '.[docs]'
	touch $@

docs: $(VENV)/installed-docs  ## build the documentation into site/; a dead link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

picture: $(VENV)/installed  ## take the picture of the page in the README anew: runs the quickstart, needs chromium
	$(BIN)/python docs/pictures/make.py

lint: $(VENV)/installed-test  ## check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Rooms whose tests start neither Ray nor a browser and train no network.
QUICK := tests/statistics tests/space tests/study tests/test_metrics.py tests/test_architecture.py tests/test_public_names.py

check: lint  ## lint, and the tests that take seconds
	$(BIN)/python -m pytest -q $(QUICK)

clean:  ## remove what the other commands made
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis
