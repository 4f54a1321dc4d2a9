# hushpoll: `make run` starts it, `make test` tests it. Both install what they need into .venv.
# Needed before: apt-get install make python3-venv git

PYTHON ?= python3
VENV   ?= .venv
PORT   ?= 8000
HOST   ?= 127.0.0.1
DATA   ?= data
# Two for each of two cores: a test often waits, for a page, a server or a database.
TEST_WORKERS ?= 4
export PORT HOST DATA
ifdef DATABASE_URL
export DATABASE_URL
endif

BIN     := $(VENV)/bin
COMPILED := $(patsubst %.po,%.mo,$(wildcard server/hushpoll_server/i18n/translations/*/LC_MESSAGES/messages.po))
COMPILE := $(BIN)/uv pip compile --quiet --no-header --universal --python-version 3.11 --generate-hashes \
           --no-emit-index-url --no-annotate

# Other engines than Chromium's: program:package for apt.
ENGINES := WebKitWebDriver:webkit2gtk-driver Xvfb:xvfb firefox-esr

.PHONY: help run demo test quick coverage test-long prove prove-analysis prove-mutants lint bench docs docs-check docs-current requirements wheel release clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

run: $(VENV)/.run $(COMPILED)  ## Start the server with a demo survey (PORT=, HOST=, DATA=, DATABASE_URL=)
	@$(BIN)/hushpoll serve

demo: $(VENV)/.run $(COMPILED)  ## Run a study in a minute: 2,000 made-up respondents, estimates beside the hidden truth
	@$(BIN)/hushpoll demo

# The workers use all cores: linear algebra in as many threads as there are cores would only get into their way.
test quick coverage test-long prove prove-analysis prove-mutants: export OPENBLAS_NUM_THREADS := 1
# Tests start our programs many times: each module is compiled once.
unexport PYTHONDONTWRITEBYTECODE

# Whole files, in the order of tests/conftest.py.
SPREAD := -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder

test: $(VENV)/.test  ## Run all tests; installs Chromium, PostgreSQL and nginx through apt where they are missing
	@sh tests/install-system.sh pdftotext:poppler-utils nginx:nginx-light systemd-analyze:systemd
	$(BIN)/python -m pytest $(SPREAD) $(TESTS)

QUICK := tests/client tests/test_architecture.py tests/test_errors.py tests/test_one_place.py \
         $(addprefix tests/analysis/,estimand/test_shares_golden.py interval/test_registry_golden.py results/test_survey.py \
         test_layers.py results/test_texts.py) \
         $(addprefix tests/server/,collect/test_api.py test_security.py respond/test_page.py store/test_surveys.py) \
         $(addprefix tests/server/workspace/,questions/test_editor.py publishing/test_publishing.py)

quick: $(VENV)/.test  ## Run what a change breaks most often, in under a minute: no browser, no PostgreSQL, no simulation
	$(BIN)/python -m pytest $(SPREAD) -q -m "not postgres" $(QUICK)

coverage: $(VENV)/.test  ## Measure which lines and branches the tests run; fails where it is less than pyproject.toml says
	@sh tests/install-system.sh pdftotext:poppler-utils nginx:nginx-light systemd-analyze:systemd
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(SPREAD) $(TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

test-long: $(VENV)/.spark  ## Run also the tests that take minutes (full audit, coverage by simulation, WebKit, Firefox)
	@sh tests/install-system.sh strace pdftotext:poppler-utils nginx:nginx-light systemd-analyze:systemd java:openjdk-17-jre-headless $(ENGINES)
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --long $(TESTS)

# What `make test` leaves out. Coverage by simulation takes as long as all of this: `make prove-analysis`.
ELSEWHERE := tests/analysis/sample/test_engines.py tests/analysis/results/test_packages.py

prove: $(VENV)/.spark  ## Run promises at their full size: the long tests, other engines, R, Spark, and the harnesses of tests/prove
	@sh tests/install-system.sh Rscript:r-base-core strace debootstrap pdftotext:poppler-utils ip:iproute2 nginx:nginx-light systemd-analyze:systemd java:openjdk-17-jre-headless $(ENGINES)
	@date +%s > $(VENV)/prove-began
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --long -m long -v --ignore tests/analysis tests
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --long -m long -v $(ELSEWHERE)
	$(BIN)/python -m tests.prove
	@echo "make prove took $$(( ($$(date +%s) - $$(cat $(VENV)/prove-began)) / 60 )) minutes."

prove-analysis: $(VENV)/.spark  ## Run the long tests of the analysis: coverage by simulation, over grids of shares and sizes
	@sh tests/install-system.sh Rscript:r-base-core java:openjdk-17-jre-headless
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --long -v --durations 20 tests/analysis

prove-mutants: $(VENV)/.mutants  ## Change the client and the estimators in one place at a time: a test must notice nine in ten changes
	$(BIN)/python -m tests.prove.mutants

lint: $(VENV)/.test  ## Check style, types, import cycles, unused code and complexity
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }
	$(BIN)/vulture

bench: $(VENV)/.test  ## Measure speed, as ratios within one run (bench/README.md says what each should show)
	@sh tests/install-system.sh wrk
	$(BIN)/python bench/submit.py
	$(BIN)/python bench/start.py
	$(BIN)/python bench/first_view.py
	$(BIN)/python bench/stall.py
	$(BIN)/python bench/crowd.py
	$(BIN)/python bench/report.py
	$(BIN)/python bench/results.py
	$(BIN)/python bench/simulate.py
	$(BIN)/python bench/constrained.py
	$(BIN)/python bench/design.py
	$(BIN)/python bench/efficiency.py --quick
	$(BIN)/python bench/scale.py
	$(BIN)/python bench/models.py --respondents 1000000

docs: $(VENV)/.test  ## Build the documentation into site/
	@PATH=$(BIN):$$PATH zensical build --strict
	@echo "Open site/index.html"

docs-current: $(VENV)/.test  ## Check that the docs' pictures are those of today (make test checks the rest)
	@sh tests/install-system.sh
	$(BIN)/python docs/tools/screenshots.py --check

docs-check: docs-current  ## Check the docs alone: pictures, examples, the command reference, links
	$(BIN)/python -m pytest -q tests/docs

requirements: $(VENV)/.test  ## Compile the pinned requirements anew
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) --upgrade --extra server pyproject.toml requirements/build.in -o requirements/run.txt
	$(COMPILE) --upgrade --extra server pyproject.toml requirements/build.in requirements/test.in -o requirements/test.txt
	$(COMPILE) --upgrade requirements/spark.in -o requirements/spark.txt
	$(COMPILE) --upgrade requirements/mutants.in -o requirements/mutants.txt

define WHEEL
	$(BIN)/python -m hatchling build -t wheel
	$(BIN)/python docs/tools/sbom.py dist/hushpoll.cdx.json
	$(BIN)/python docs/tools/constraints.py dist/constraints.txt
endef

wheel: $(VENV)/.run  ## Build the wheel into dist/, with its bill of materials and the versions it was tested with
	$(WHEEL)

# The same commit gives the same bytes: every file has the time of the commit.
release: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
release: $(VENV)/.run  ## Build a release into an empty dist/: wheel, source archive, deploy/, bill of materials, checksums
	@test -z "$$(git status --porcelain)" || { echo "Commit or stash your changes first: a release is a commit." >&2; exit 2; }
	rm -rf dist
	$(WHEEL)
	$(BIN)/python -m hatchling build -t sdist
	cp -R deploy dist/deploy
	cd dist && find . -type f ! -name SHA256SUMS | sort | xargs sha256sum > SHA256SUMS

clean:  ## Remove what was built or installed; the data folder stays
	rm -rf $(VENV) dist site artefacts .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

# The package itself is installed as editable, so that an edit shows at the next start.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "hushpoll needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 run" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "No virtual environment could be made. On Debian: apt-get install python3-venv" >&2; exit 2; }

# An installation compiles the translations; so does a start after one of them has changed.
$(COMPILED): %.mo: %.po | $(VENV)/.run
	@$(BIN)/python hatch_build.py

$(VENV)/.run: requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Installing hushpoll into $(VENV) (once)"
	@$(INSTALL) --require-hashes -r requirements/run.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: requirements/test.txt pyproject.toml | $(BIN)/python
	@echo "Installing hushpoll and its test tools into $(VENV) (once)"
	@$(INSTALL) --require-hashes -r requirements/test.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.run

# Spark is large, and only what `make prove` shows of it needs it.
$(VENV)/.spark: requirements/spark.txt $(VENV)/.test
	@$(INSTALL) --require-hashes -r requirements/spark.txt
	@touch $@

# Only `make prove-mutants` needs cosmic-ray.
$(VENV)/.mutants: requirements/mutants.txt $(VENV)/.test
	@$(INSTALL) --require-hashes -r requirements/mutants.txt
	@touch $@
