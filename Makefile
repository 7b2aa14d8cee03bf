# Everything runs in .venv, which is made here with plain `python3 -m venv` and pip. Nothing else is needed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DECLARATIONS := pyproject.toml protos/pyproject.toml
# What is installed: `local` runs the system, `dev` tests it (and brings torch).
LOCAL := $(VENV)/.installed-local
DEV := $(VENV)/.installed-dev
PATHS := services shared cli bench images load k8s observability tests protos
ARGS ?=
BENCH ?= quality
REQUESTS ?= 10000
SEED ?= 1
MINUTES ?= 30
KILLS ?= 500

.DEFAULT_GOAL := help
.PHONY: help venv demo up test lint types unit protos bench peers results fuzz pgbouncer operations crash dbfaults netfaults images load load-tools soak k8s k8s-static k8s-tools observability format clean

help: ## this list
	@echo "make TARGET [PYTHON=python3.12] [ARGS=...]"
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  \1\t\2/' | expand -t 14

venv: $(LOCAL) ## the virtual environment, with all that runs the system

demo: $(LOCAL) ## record this repository on the embedded default, ask three questions, stop
	$(BIN)/python -m cli.main demo . $(ARGS)

up: $(LOCAL) ## run the whole system until Ctrl-C; ARGS="--port 0 --data DIR"
	$(BIN)/python -m cli.main up $(ARGS)

test: lint types unit ## all that has to pass: lint, types, tests

lint: $(DEV) ## ruff: rules and format
	$(BIN)/ruff check $(PATHS)
	$(BIN)/ruff format --check $(PATHS)

types: $(DEV) ## mypy, strict
	$(BIN)/mypy

unit: $(DEV) ## the tests alone, two files at a time; ARGS="tests/unit -k name"
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile $(ARGS)

protos: $(DEV) ## lint the contract, then generate the stubs
	$(BIN)/buf lint protos
	$(BIN)/buf format -w protos
	$(BIN)/python protos/generate.py

bench: $(DEV) ## measure the embedded system; BENCH=quality, ingest, ingest_speed, asof or reconcile, ARGS for its options
	$(BIN)/python -m bench.$(BENCH) $(ARGS)

peers: $(DEV) ## other memories beside ours, each in an environment of its own; ARGS="DIR --rounds 3", minutes and gigabytes
	$(BIN)/python -m bench.recorded docs/results/peers.json bench.peers --json $(ARGS)

results: $(DEV) ## docs/results.md from what bench.recorded has kept in docs/results
	$(BIN)/python -m bench.results docs/results/*.json -o docs/results.md

fuzz: $(DEV) ## send made-up requests to each RPC; REQUESTS=10000 to each, SEED=1, RPCS=A,B, RESULTS=FILE to go on from
	$(BIN)/python -m tests.fuzz --requests $(REQUESTS) --seed $(SEED) $(if $(RPCS),--rpcs $(RPCS)) $(if $(RESULTS),--results $(RESULTS)) $(ARGS)

crash: $(DEV) ## kill processes at every named point, while clients go on; KILLS=500, SEED=1
	$(BIN)/python -m tests.faults.crash --kills $(KILLS) --seed $(SEED)

dbfaults: $(DEV) ## kill Postgres, cut its connections and fill its disk (this as root), under load
	$(BIN)/python -m tests.faults.crash.failing all $(ARGS)

netfaults: $(DEV) ## as root: cut and slow the network between clients, services and Postgres
	$(BIN)/python -m tests.faults.crash.network $(ARGS)

images: $(DEV) ## build the container images and run each as its pod would; root, Debian, some minutes
	$(BIN)/python -m images.build
	PALIMPSEST_IMAGES=1 $(BIN)/python -m pytest tests/images --durations 5 $(ARGS)

load: load-tools ## ghz on the embedded system, with gates, two minutes; SECONDS=2 a slice, TARGET=writer,reader,embedder
	$(BIN)/python -m load $(if $(SECONDS),--seconds $(SECONDS)) $(if $(TARGET),--target $(TARGET)) $(ARGS)

load-tools: $(DEV) ## build ghz once, into the user's cache
	$(BIN)/python -m load.tools

soak: load-tools ## mixed load for MINUTES=30, then far too much of it; TARGET as for load
	$(BIN)/python -m load.soak --minutes $(MINUTES) $(if $(TARGET),--target $(TARGET)) $(ARGS)

k8s: $(DEV) ## check the manifests, by rules, schemas, a linter and a real apiserver, which k8s-tools builds
	@$(BIN)/python -m k8s.checks.tools
	$(BIN)/python -m pytest k8s/checks $(ARGS)

k8s-static: $(DEV) ## the same without an apiserver; installs the little that it needs
	PYTHON=$(BIN)/python k8s/tools/install static
	$(BIN)/python -m pytest k8s/checks --ignore k8s/checks/test_apiserver.py $(ARGS)

k8s-tools: $(DEV) ## build into the user's cache what k8s needs, a kube-apiserver among it: once, ten minutes
	PYTHON=$(BIN)/python k8s/tools/install static apiserver

pgbouncer: $(DEV) ## the services through a PgBouncer in transaction mode, which has to be installed; PGBOUNCER=PATH
	$(BIN)/python -m pytest tests/production/test_pgbouncer.py $(ARGS)

operations: $(DEV) ## the services of a former revision beside these, on one schema; needs a clone with its history
	$(BIN)/python -m pytest tests/production/test_former_version.py $(ARGS)

PROMTOOL := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/palimpsest-tools/promtool-0.316.0

observability: $(DEV) $(PROMTOOL)/promtool ## write the plain alerts and the handbook's tables, check the rules, try each alert; builds promtool once, with go
	$(BIN)/python -m observability.alerts
	$(BIN)/python -m observability.handbook
	$(PROMTOOL)/promtool check rules observability/alerts.yaml
	$(PROMTOOL)/promtool test rules observability/alerts_test.yaml

# Without what asks clouds for their machines, which takes most of the time to build, and no rule needs.
$(PROMTOOL)/promtool:
	GOBIN=$(PROMTOOL) go install -tags remove_all_sd github.com/prometheus/prometheus/cmd/promtool@v0.316.0

format: $(DEV) ## ruff: put the code in order
	$(BIN)/ruff check --fix $(PATHS)
	$(BIN)/ruff format $(PATHS)

clean: ## remove the virtual environment and all caches, not the data
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python 3.11 or newer is needed, and '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo missing)." >&2; \
		echo "Name one that is: make PYTHON=python3.12" >&2; exit 1; }
	@# A half-made environment would pass for one the next time.
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(LOCAL): $(DECLARATIONS) | $(BIN)/python
	@echo "Installing what runs the system into $(VENV) (once)"
	$(PIP) install -e protos -e '.[local]'
	@touch $@

# `dev` holds `local`, so that neither target installs anew after it.
$(DEV): $(DECLARATIONS) | $(BIN)/python
	@echo "Installing what tests the system into $(VENV) (once; it brings torch)"
	$(PIP) install -e protos -e '.[dev]'
	@touch $(LOCAL) $@
