# `make` lists the targets. Needs Python 3.11 or newer with venv and pip, nothing else.

PYTHON ?= python3
UV ?= uv
VENV ?= .venv
# Extra words for pytest, for example: make pytest PYTEST_ARGS="-k counter -x"
PYTEST_ARGS ?=
# One more than there are cores: many checks wait for a browser or for a process to start.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))')
# Extra words for tools.package, for example: make package PACKAGE_ARGS=--quick
PACKAGE_ARGS ?=
# Extra words for the soak, for example: make soak SOAK_ARGS="--minutes 10"
SOAK_ARGS ?=
# Extra words for uv, for example: make lock LOCK_ARGS=--upgrade
LOCK_ARGS ?=

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Twice quiet: errors only.
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check --no-input
# Silent where there is a browser; where none can be had, only CI stops: there its checks must run.
BROWSER = $(BIN)/python -m pytest_mcp_approval.browser install >/dev/null || test -z "$$CI"

# What shows that a package of the system is there.
FAKETIME := $(MCP_APPROVAL_LIBFAKETIME) /usr/lib/*/faketime/libfaketime* /usr/lib/faketime/libfaketime* \
  /usr/lib64/faketime/libfaketime* /usr/local/lib/faketime/libfaketime* /opt/homebrew/lib/faketime/libfaketime*
POSTGRESQL := /usr/local/bin/postgres /usr/lib/postgresql/*/bin/postgres /usr/pgsql-*/bin/postgres /opt/homebrew/bin/postgres

.DEFAULT_GOAL := help
.PHONY: help demo matrix mutation test setup lint types pytest format docs package interop benchmark soak lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(STAMP) ## Check the embedded reference server, and leave an HTML report
	@$(BROWSER)
	@echo "demo: checking the reference server by every rule of every family, with $(WORKERS) workers"
	@$(BIN)/python -m pytest mcp-approval/ -n $(WORKERS) --dist worksteal --mcp-approval-target=reference --mcp-approval-report=mcp-approval-report.html --mcp-approval-findings=none -p no:cacheprovider -o faulthandler_timeout=0
	@echo "demo: open mcp-approval-report.html; check your own server with"
	@echo "      $(BIN)/pytest --mcp-approval-target=http://localhost:3000/mcp (or stdio:<command>)"

test: lint ## Do all that CI does: set up, lint, check types, run the tests
	@$(MAKE) --no-print-directory --jobs=2 types pytest

setup: $(STAMP) ## Create .venv and install the pinned requirements and the project

$(STAMP): requirements/development.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "setup: needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version 2>/dev/null || echo missing); name another with make PYTHON=..." >&2; exit 1; }
	@echo "setup: creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@echo "setup: installing the pinned requirements"
	@$(BIN)/python tools/install_requirements.py requirements/development.txt
	@echo "setup: installing the project in editable mode"
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@echo "setup: checking that the pinned versions satisfy the project"
	@report=$$($(BIN)/python -m pip --disable-pip-version-check check 2>&1) || { echo "$$report" >&2; exit 1; }
	@touch $@

lint: $(STAMP) ## Check style, formatting and layers
	@echo "lint: checking the code with ruff"
	@$(BIN)/ruff check --quiet .
	@echo "lint: checking the formatting with ruff"
	@$(BIN)/ruff format --quiet --check . || { echo "lint: make format puts this right" >&2; exit 1; }
	@echo "lint: checking the layers with import-linter"
	@report=$$($(BIN)/lint-imports --no-logo --no-cache 2>&1) || { echo "$$report" >&2; exit 1; }

types: $(STAMP) ## Check types
	@echo "types: checking with mypy"
	@$(BIN)/mypy --no-error-summary

pytest: $(STAMP) ## Run the tests only (PYTEST_ARGS="..." adds to the command)
	@$(BROWSER)
	@tools/install_package.sh faketime "tests that move a foreign server's clock" "$(FAKETIME)"
	@tools/install_package.sh postgresql "tests of replicas on PostgreSQL" "$(POSTGRESQL)"
	@echo "pytest: running the tests with $(WORKERS) workers"
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

matrix: $(STAMP) ## Check the reference server in every combination of transport, store and era
	@echo "matrix: twelve times every family, and all of the examples; this takes an hour or more"
	@MCP_APPROVAL_MATRIX=1 $(BIN)/python -m pytest -n auto --dist worksteal -o faulthandler_timeout=900 tests/plugin/test_healthy_reference.py tests/examples

mutation: $(STAMP) ## Break the reference line by line, and see who notices (MUTATION_ARGS="--sample 50")
	@echo "mutation: this takes hours without a sample; it goes on where it was stopped"
	@$(BIN)/python -m tests.mutation $(MUTATION_ARGS)
	@$(BIN)/python -m tests.mutation.page

format: $(STAMP) ## Format the code, and repair what ruff can
	@echo "format: repairing what ruff can"
	@$(BIN)/ruff check --quiet --fix-only .
	@echo "format: formatting"
	@$(BIN)/ruff format --quiet .

docs: $(STAMP) ## Write the pages that follow from data, build the site, check its links
	@$(BIN)/python -m docs.make_pages
	@$(BIN)/python -m tools.docs_site

package: $(STAMP) ## Build both packages, check them, and try the wheels in clean environments
	@$(BIN)/python -m tools.package $(PACKAGE_ARGS)

interop: $(STAMP) ## Let other people's clients, and the official suite, talk to the reference server
	@$(BIN)/python -m tools.interop

benchmark: $(STAMP) ## Measure the virtual authenticator and the suite
	@echo "benchmark: measuring the virtual authenticator"
	@$(BIN)/python -m benchmarks.virtual_authenticator
	@echo "benchmark: measuring the suite"
	@$(BIN)/python -m benchmarks.suite
	@echo "benchmark: measuring runs against hostile servers"
	@$(BIN)/python -m benchmarks.hostile
	@echo "benchmark: measuring reports"
	@$(BIN)/python -m benchmarks.report
	@echo "benchmark: measuring the browser layer"
	@$(BIN)/python -m benchmarks.browser
	@echo "benchmark: measuring exploration"
	@$(BIN)/python -m benchmarks.explore
	@echo "benchmark: measuring the reference server's door"
	@$(BIN)/python -m benchmarks.door
	@echo "benchmark: measuring the gates under load"
	@$(BIN)/python -m benchmarks.load
	@echo "benchmark: measuring how the gates grow"
	@$(BIN)/python -m benchmarks.growth

soak: $(STAMP) ## Race approvals and kill replicas, 100,000 and 200 times at least (SOAK_ARGS="--minutes 10")
	@tools/install_package.sh postgresql "replicas on PostgreSQL" "$(POSTGRESQL)"
	@echo "soak: racing approvals and killing replicas; this takes half an hour or more"
	@nice -n 19 $(BIN)/python -m benchmarks.soak $(SOAK_ARGS)

lock: ## Write requirements/*.txt anew (needs uv; LOCK_ARGS=--upgrade for newer versions)
	@command -v $(UV) >/dev/null || { echo "lock: needs uv (pip install uv), or name it with make UV=..." >&2; exit 1; }
	@echo "lock: compiling requirements/development.txt"
	@$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" --extra dev $(LOCK_ARGS) \
	  --output-file requirements/development.txt pyproject.toml requirements/development.in
	@echo "lock: compiling requirements/package.txt"
	@$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" $(LOCK_ARGS) \
	  --output-file requirements/package.txt requirements/package.in
	@echo "lock: compiling requirements/docs.txt"
	@$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" $(LOCK_ARGS) \
	  --output-file requirements/docs.txt requirements/docs.in

clean: ## Remove .venv, caches and build output
	@echo "clean: removing $(VENV), caches and build output"
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .cache .mcp-approval
	@find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
