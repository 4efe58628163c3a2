# `make demo`, `make test`, `make check` and `make bench` each set up what they need; `make test-models` a
# second environment, for it needs torch (some 700 MB).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MODELS := .venv-models
MODELS_STAMP := $(MODELS)/.installed

.PHONY: demo test test-models check bench format clean

demo: $(STAMP)
	$(BIN)/memory demo

test: $(STAMP)
	$(BIN)/python -m pytest

test-models: $(MODELS_STAMP)
	$(MODELS)/bin/python -m pytest tests/models

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python bench/speed.py
	$(BIN)/python bench/embed.py
	$(BIN)/python bench/mcp.py
	$(BIN)/python bench/sessions.py
	$(BIN)/python bench/graph.py
	$(BIN)/python bench/team.py
	$(BIN)/python bench/size.py
	$(BIN)/python bench/entities.py
	$(BIN)/python bench/hostile.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(MODELS) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(STAMP): pyproject.toml scripts/setup
	PYTHON="$(PYTHON)" VENV="$(VENV)" sh scripts/setup
	touch $(STAMP)

$(MODELS_STAMP): pyproject.toml scripts/setup
	PYTHON="$(PYTHON)" VENV="$(MODELS)" MODELS=yes sh scripts/setup
	touch $(MODELS_STAMP)
