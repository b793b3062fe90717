# Two commands are enough: `make book` and `make test`. `make help` lists the others.
SHELL := /bin/bash
PYTHON := $(shell for p in python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' >/dev/null 2>&1 && command -v $$p && break; done)

ifeq ($(PYTHON),)
$(error Python 3.11 is needed and was not found: install it (e.g. "apt install python3.11 python3.11-venv" or pyenv) and try again)
endif

export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

BIN := .venv/bin
READY := .venv/ready
BUDGET ?= ci
SEED ?= 0
NOTEBOOKS := $(wildcard book/*.ipynb)

.PHONY: help book lint check test lab run refresh data clean

help:
	@echo "make book                     build the site into _build/html (minutes, no training)"
	@echo "make check                    lint, types and the quick tests (about two minutes)"
	@echo "make test                     everything that CI checks (6 to 20 minutes)"
	@echo "make lab                      open the chapters in JupyterLab"
	@echo "make run CHAPTER=td3bc BUDGET=full   run one chapter with papermill into _runs/"
	@echo "make refresh                  run all chapters at the ci budget and keep their outputs"
	@echo "make data                     make the Minari datasets that are missing"
	@echo "make clean                    remove the built site and local runs"

$(READY): requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	@touch $@

book: $(READY)
	rm -rf _build
	$(BIN)/jupyter-book build . -W -n --keep-going
	@echo "The book is at $(CURDIR)/_build/html/index.html"

data: $(READY)
	$(BIN)/python -m rlnotes data

# Each test goes to whichever core is free, in the order of tests/conftest.py: long ones first.
PYTEST := $(BIN)/pytest tests --numprocesses 2 --dist loadgroup --no-loadscope-reorder

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint
	$(PYTEST) -m "not slow"

test: lint data
	$(PYTEST)

lab: $(READY) data
	$(BIN)/jupyter lab book $(if $(filter 0,$(shell id -u)),--allow-root)

run: $(READY) data
	@test -f "book/$(CHAPTER).ipynb" || { echo "make run CHAPTER=NAME, with NAME one of: $(basename $(notdir $(NOTEBOOKS)))"; exit 2; }
	@mkdir -p _runs
	$(BIN)/papermill --cwd book -p BUDGET $(BUDGET) -p SEED $(SEED) book/$(CHAPTER).ipynb _runs/$(CHAPTER)-$(BUDGET)-$(SEED).ipynb

refresh: $(READY) data
	$(BIN)/python -m rlnotes.report.play
	$(BIN)/python -m rlnotes.report.front
	for notebook in $(NOTEBOOKS); do $(BIN)/jupyter nbconvert --to notebook --execute --coalesce-streams --ExecutePreprocessor.record_timing=False --inplace $$notebook || exit 1; done

clean:
	rm -rf _build _runs
