# Bare `make` explains the targets. Each creates .venv when it is missing; nothing but Python is needed.
PYTHON ?= python3
VENV := .venv
PLANT ?= changed
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
SITE := $(VENV)/.site
# A process for each core, each with one thread: what is left of a slow file is taken over by who is idle.
WORKERS := -n auto --dist worksteal
ONE_THREAD := OPENBLAS_NUM_THREADS=1
# Which tests run a line, and how long each takes: what the machine of mistakes goes by.
NOTED := --cov-context=test -p tests.mutation.recording
# Tests start hundreds of processes: each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test engines check site docs audit bench papers clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test,dev]'
	@touch $@

demo: $(READY) ## Release the Wine data privately, with the truth beside it
	$(VENV)/bin/dpcov demo

test: $(READY) ## Run the tests, and plant the bugs of files that changed (PLANT=all for all, DATA=folder for adult)
	$(if $(DATA),DPCOV_DATA=$(abspath $(DATA))) $(ONE_THREAD) $(RUN) -m pytest $(WORKERS) --plant $(PLANT)

engines: $(READY) ## Install Dask, Spark, torch and psycopg, without which their tests are skipped; Spark needs Java, psycopg a Postgres server
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[engines]'

check: $(READY) ## Formatting, lint, strict types, the direction of imports
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(RUN) -m pytest -q tests/test_architecture.py

$(SITE): $(READY)
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $@

site: $(SITE) ## Install what builds the documentation's site, without which its tests are skipped

docs: $(SITE) ## Make the pages that are made from the code, run those that show what code prints, and build the site into site/
	$(RUN) docs/generate.py
	$(ONE_THREAD) $(RUN) docs/run_page.py docs/hospital.md
	$(ONE_THREAD) $(RUN) docs/run_page.py docs/visits.md
	$(ONE_THREAD) $(RUN) docs/run_page.py docs/tutorial.md
	$(ONE_THREAD) $(RUN) docs/make_gallery.py
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict --quiet
	@echo "The site is in site/: open site/index.html. Its search needs a server: python3 -m http.server --directory site"

audit: $(READY) ## Slower evidence: more trials, branch coverage of the kernel, and a sample of a machine's mistakes in it
	$(ONE_THREAD) $(RUN) -m pytest -m audit -raP $(WORKERS) --override-ini 'addopts=--strict-markers'
	$(ONE_THREAD) $(RUN) -m pytest -q $(WORKERS) --ignore tests/mutation --cov --cov-report=term $(NOTED)
	$(ONE_THREAD) $(RUN) -m tests.mutation.machine --sample 300

bench: $(READY) ## Speed against X.T @ X plus eigh, and accuracy tables (DATA=folder for adult, airfoil, MNIST)
	$(RUN) -m benchmarks.speed
	$(RUN) -m benchmarks.tables
	$(RUN) -m benchmarks.scale
	$(RUN) -m benchmarks.clusters
	$(RUN) -m benchmarks.accuracy $(if $(DATA),--data $(DATA))
	$(RUN) -m benchmarks.shrinkage $(if $(DATA),--data $(DATA))
	$(RUN) -m benchmarks.directions speed
	$(RUN) -m benchmarks.directions accuracy $(if $(DATA),--data $(DATA))
	$(RUN) -m benchmarks.automatic targets $(if $(DATA),--data $(DATA))
	$(RUN) -m benchmarks.automatic against $(if $(DATA),--data $(DATA))
	$(RUN) -m benchmarks.automatic figures
	$(RUN) -m benchmarks.coinpress
	$(RUN) -m benchmarks.principal $(if $(DATA),--data $(DATA))
	$(RUN) -m benchmarks.ridge $(if $(DATA),--data $(DATA))
	$(RUN) -m benchmarks.units $(if $(DATA),--data $(DATA))
	$(RUN) -m benchmarks.planning $(if $(DATA),--data $(DATA))
	$(RUN) -m benchmarks.trust
	$(RUN) -m benchmarks.small_models $(if $(DATA),--data $(DATA))

papers: $(READY) ## The five papers' figures and tables, hours; QUICK=1 for minutes (DATA=folder, else originals are fetched)
	$(RUN) -m experiments all $(if $(QUICK),--quick) $(if $(DATA),--data $(DATA))
	$(RUN) -m experiments pages

clean: ## Remove the environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
