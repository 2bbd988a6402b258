# Two commands matter: `make eval` scores the shipped dataset, `make test` tests scorehost. Each sets up what it needs.
.DEFAULT_GOAL := help
.PHONY: help setup engine images eval fmt lint type imports schema test-fast test-docker test chaos bench check clean
.NOTPARALLEL:

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ARGS ?=
ROUNDS ?= 50
CODE := src tests shared bench examples

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

setup: $(STAMP) ## the virtual environment .venv, with scorehost and its tools

$(STAMP): pyproject.toml scripts/venv.sh
	@PYTHON="$(PYTHON)" sh scripts/venv.sh

engine: ## a Docker engine that answers (on Debian or Ubuntu as root it is installed and started)
	@sh scripts/engine.sh

images: engine ## the base image scorehost/python:3
	@sh scripts/base-image.sh

eval: $(STAMP) images ## score the shipped dataset's own solutions, and what its run phase makes; more options by ARGS="…"
	@$(BIN)/scorehost run --submission solution --submission run $(ARGS)

fmt: $(STAMP) ## format the code
	@$(BIN)/ruff format $(CODE)
	@$(BIN)/ruff check --fix $(CODE)

lint: $(STAMP)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff check --preview --select PLW1514 src # text has an encoding that is said, never the locale's
	@$(BIN)/ruff format --check $(CODE)

type: $(STAMP)
	@$(BIN)/mypy

imports: $(STAMP)
	@$(BIN)/lint-imports

schema: $(STAMP) ## docs/schema, docs/errors.md and the numbers of docs/limits.md anew, from the sources
	@$(BIN)/python -m scorehost.api.schema docs/schema
	@$(BIN)/python -m scorehost.model.errors_page docs/errors.md
	@$(BIN)/python scripts/limits_page.py

test-fast: $(STAMP) ## the tests that need no engine
	@$(BIN)/pytest -m "not docker" $(ARGS)

test-docker: $(STAMP) images ## the tests on a real engine
	@SCOREHOST_REQUIRE_DOCKER=1 $(BIN)/pytest -m docker $(ARGS)

test: $(STAMP) images ## all tests; red when no engine can be had
	@SCOREHOST_REQUIRE_DOCKER=1 $(BIN)/pytest $(ARGS)

bench: $(STAMP) images ## speed as ratios to the engine's own floor, both sides; rows by ARGS="…"; bench.json
	@$(BIN)/python -m bench --json bench.json $(ARGS)

chaos: $(STAMP) images ## controllers killed 50 times, engines that fail, hang and restart, full disks, stepping clocks
	@SCOREHOST_REQUIRE_DOCKER=1 SCOREHOST_CHAOS_ROUNDS=$(ROUNDS) $(BIN)/pytest -s tests/chaos $(ARGS)

check: lint type imports test-fast ## all that needs no engine: lint, format, types, import contracts, schemas, tests

clean: ## remove .venv and caches; runs/ stays
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} + ; find src -name '*.egg-info' -prune -exec rm -rf {} +
