# `make demo`, `make test`, `make check` and `make bench` each set up what they need; `make test-models` a
# second environment, for it needs torch (some 700 MB); `make test-agents` coding agents from npm (1.2 GB).
# `make test-more` runs what `make test` leaves out, as far as this machine has it, with an environment for each other
# Python; `make test-more SKIP="models agents"` all but these.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MODELS := .venv-models
MODELS_STAMP := $(MODELS)/.installed

.PHONY: demo test test-more test-models test-agents check bench format release clean

demo: $(STAMP)
	$(BIN)/memory demo

test: $(STAMP)
	$(BIN)/python -m pytest -n auto --dist worksteal

test-more: $(STAMP)
	SKIP="$(SKIP)" $(BIN)/python scripts/test_more.py

test-models: $(MODELS_STAMP)
	$(MODELS)/bin/python -m pytest tests/models

test-agents: $(STAMP)
	$(BIN)/python scripts/test_more.py agents

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
	$(BIN)/python bench/small.py
	$(BIN)/python bench/hostile.py

release: $(STAMP)
	$(BIN)/python scripts/release.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(VENV)-* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(STAMP): pyproject.toml scripts/setup
	PYTHON="$(PYTHON)" VENV="$(VENV)" sh scripts/setup
	touch $(STAMP)

$(MODELS_STAMP): pyproject.toml scripts/setup
	PYTHON="$(PYTHON)" VENV="$(MODELS)" MODELS=yes sh scripts/setup
	touch $(MODELS_STAMP)
