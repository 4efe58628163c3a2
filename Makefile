# `make demo`, `make test`, `make check` and `make bench` each set up what they need; `make test-models` a
# second environment, for it needs torch (some 700 MB); `make test-agents` coding agents from npm (1.2 GB).
# `make test-more` runs what `make test` leaves out, as far as this machine has it, with an environment for each other
# Python; `make test-more SKIP="models agents"` all but these. Tests and benches read the default model's weights (90 MB)
# from their environment. `make demo` offers to bring them into your data folder, and where nobody can be asked, does.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP := $(VENV)/.installed
TESTED := $(VENV)/.tested
MODELS := .venv-models
MODELS_STAMP := $(MODELS)/.installed

.PHONY: demo test test-more test-models test-agents test-postgres test-web check bench bench-scale site format release clean

demo: $(STAMP)
	@if [ -t 0 ] && [ -t 2 ]; then $(BIN)/memory demo; else $(BIN)/memory demo --yes; fi

test: $(TESTED)
	$(BIN)/python -m pytest -n auto --dist worksteal

test-more: $(TESTED)
	SKIP="$(SKIP)" $(BIN)/python scripts/test_more.py

test-models: $(MODELS_STAMP)
	$(MODELS)/bin/python -m pytest tests/models

test-agents: $(STAMP)
	$(BIN)/python scripts/test_more.py agents

test-postgres: $(TESTED)
	$(BIN)/python scripts/test_more.py postgres

test-web: $(TESTED)
	$(BIN)/python scripts/test_more.py web

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/size.py --budget

bench: $(TESTED)
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
	$(BIN)/python bench/as_of.py

bench-scale: $(TESTED)
	$(BIN)/python -m pip install --quiet tantivy usearch
	$(BIN)/python bench/scale.py

site: $(STAMP)
	$(BIN)/python -m pip install --quiet --group site
	$(BIN)/python scripts/site/build.py site

release: $(STAMP)
	$(BIN)/python scripts/release.py $(PUBLISH)

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(VENV)-* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(STAMP): pyproject.toml scripts/setup
	PYTHON="$(PYTHON)" VENV="$(VENV)" sh scripts/setup
	touch $(STAMP)

$(TESTED): pyproject.toml scripts/setup
	PYTHON="$(PYTHON)" VENV="$(VENV)" WEIGHTS=yes sh scripts/setup
	touch $(STAMP) $(TESTED)

$(MODELS_STAMP): pyproject.toml scripts/setup
	PYTHON="$(PYTHON)" VENV="$(MODELS)" WEIGHTS=yes MODELS=yes sh scripts/setup
	touch $(MODELS_STAMP)
