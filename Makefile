# `make` lists what can be made. A fresh clone needs only Python 3.11 or later and make; the rest comes into .venv.

VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.installed
DEV := $(VENV)/.installed-dev

# Set REPORTS to a folder to keep a JUnit file of each run of tests there; WORKERS is how many tests run at a time.
REPORTS ?=
WORKERS ?= auto
PYTEST = $(BIN)/python -m pytest $(if $(REPORTS),--junitxml=$(REPORTS)/$@.xml)

.DEFAULT_GOAL := help
.PHONY: help demo setup fmt lint test laws faults docs bench bench-quality check clean

help:  ## list what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do \
	  printf '  make %-14s %s\n' "$$name" "$$text"; done
	@echo
	@echo '  make demo DOCS=folder Q="a question"     asks your own documents'
	@echo '  make demo PYTHON=/path/to/python3.13     chooses the Python that makes .venv'

# --- the virtual environment -----------------------------------------------------------------------------------------

$(BIN)/python:
	@set -e; python=''; \
	for one in "$(PYTHON)" python3.14 python3.13 python3.12 python3.11 python3; do \
	  if [ -n "$$one" ] && "$$one" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    python="$$one"; break; \
	  elif [ -n "$$one" ] && [ "$$one" = "$(PYTHON)" ]; then \
	    echo "PYTHON=$$one is not a Python 3.11 or later."; exit 1; \
	  fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo 'Estante needs Python 3.11 or later, and none was found on the PATH.'; \
	  echo 'Install one (Debian: apt install python3 python3-venv), or name it: make demo PYTHON=/path/to/python3'; \
	  exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "$$python cannot make a virtual environment (Debian: apt install python3-venv)."; exit 1; }

# pip knows dependency groups since 25.1; one that is new enough is left alone.
$(BASE): pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	@echo 'Installing Estante into $(VENV)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(DEV): $(BASE)
	@echo 'Installing what the tests need into $(VENV)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

setup: $(DEV)  ## make .venv with all that development needs
	@echo 'Ready: $(BIN)/estante --help'

# --- seeing it work --------------------------------------------------------------------------------------------------

demo: $(BASE)  ## index a folder and ask it; DOCS=folder Q="a question" for your own
	@$(BIN)/python tools/demo.py --docs "$$DOCS" --ask "$$Q"

# Through the environment, so that no sign in a path or a question means anything to the shell.
export DOCS Q

# --- keeping it right ------------------------------------------------------------------------------------------------

fmt: $(DEV)  ## format the code
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .

lint: $(DEV)  ## style, types, floors
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/mypy examples/estante-connector-example/src/estante_connector_example examples/connector_template.py
	$(BIN)/lint-imports

test: $(DEV)  ## the quick tests
	$(PYTEST) -n $(WORKERS) -m 'not faults' --ignore tests/docs

laws: export HYPOTHESIS_PROFILE = laws
laws: $(DEV)  ## the laws of tests/laws, with many more examples
	$(PYTEST) -n $(WORKERS) tests/laws

faults: $(DEV)  ## kills, full disks, torn writes: slow
	$(PYTEST) -m faults

docs: $(DEV)  ## run every block of the documentation, check its links and lists
	$(PYTEST) -n $(WORKERS) tests/docs

check: lint test docs  ## all that must hold before a change goes in

# --- measuring -------------------------------------------------------------------------------------------------------

bench: $(DEV)  ## speed and memory
	$(BIN)/python bench/speed.py

bench-quality: $(DEV)  ## quality of retrieval
	$(BIN)/python bench/quality.py

clean:  ## take away what was made
	rm -rf $(VENV) .demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools bench examples -name __pycache__ -type d -prune -exec rm -rf {} +
