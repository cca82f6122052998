# Each target sets up .venv if necessary. PYTHON chooses its interpreter (3.11 or newer).
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

unexport PYTHONDONTWRITEBYTECODE  # pytest and all processes of tests compile each module once
MAKEFLAGS += --jobs=2  # `make test` lints beside the tests

.PHONY: demo test test-alone test-together test-slow test-gpu test-toolchains test-browser lint wheel-check docs clean

demo: .venv/.ready  ## show kb on real documents; DOCS=path adds your own folder
	@BIN=$(BIN) DOCS="$(DOCS)" bash examples/demo.sh

test: lint test-together  ## run what CI runs

test-alone: .venv/.ready-dev  # the tests that compare times: `make test` begins with them, and runs nothing beside them
	$(BIN)/python -m pytest -m "alone and not slow" --durations 10 $$(grep -rl mark.alone --include='test_*.py' tests)

test-together: test-alone
	$(BIN)/python -m pytest -m "not alone and not slow and not toolchains and not browser" --ignore tests/benchmarks --durations 10 -n 2 --dist loadfile

test-slow: wheel-check  ## run the tests that take minutes, on a corpus of documents if there is one, and those of benchmarks/
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin
	$(BIN)/python -m pytest -m slow --ignore tests/benchmarks
	$(BIN)/python -m pytest -m "slow or not slow" tests/benchmarks

test-gpu: .venv/.ready-dev  ## run the tests of the judge on this machine's GPU
	$(BIN)/python -m pytest -m gpu

test-toolchains: .venv/.ready-dev  ## run the tests of other chips' compilers and simulators; say which are missing
	$(INSTALL) -e '.[toolchains]'
	$(BIN)/python -m pytest -m toolchains -rs tests/toolchains

test-browser: .venv/.ready-dev  ## run the tests of the page in Chromium, which CHROMIUM names or the path has
	$(INSTALL) -e '.[browser]'
	$(BIN)/python -m pytest -m browser -rs tests/web

lint: .venv/.ready-dev $(if $(filter test,$(MAKECMDGOALS)),test-alone)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/size_report.py
	$(BIN)/cog --check docs/cli.md

wheel-check: .venv/.ready-dev  ## check that the built wheel shows its help without its heavy dependencies
	rm -rf build/wheel build/clean
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt typer
	build/clean/bin/python -m pip install --quiet --disable-pip-version-check --no-deps build/wheel/*.whl
	build/clean/bin/kb --help > /dev/null
	build/clean/bin/kb ingest --help > /dev/null

docs: .venv/.ready-dev  ## regenerate the generated parts of the documentation
	$(BIN)/cog -r docs/cli.md

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.ready: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) -e '.[all]'
	touch $@

.venv/.ready-dev: .venv/.ready
	$(INSTALL) -e '.[all,dev]'
	touch $@
