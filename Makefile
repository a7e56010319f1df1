# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# torch is pinned for development and tests; flor itself asks for none.
TORCH := torch==2.13.0

.PHONY: demo test lint check coverage env long benchmarks

env: .venv/ready

.venv/ready: .venv/demo
	$(BIN)/pip install -q -e '.[dev]'
	touch $@

.venv/demo: pyproject.toml  # what the demo needs; the tools of development, which `env` has, take minutes to install
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q $(TORCH)
	$(BIN)/pip install -q -e . scikit-learn
	touch $@

demo: .venv/demo  ## record examples/digits.py, add a log statement, replay
	bash examples/demo.sh $(CURDIR)/$(BIN)

lint: env
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

check: env
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

coverage: env
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --cov=flor --cov-report=term:skip-covered

long: env  ## tests that take minutes: every command of the docs, every example, gc killed at every call
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m long

benchmarks: env  ## the paper's evaluation, into docs/; QUICK=1: small, into a scratch folder; WITH='--flordb PYTHON' adds
	$(BIN)/python benchmarks/run.py $(if $(QUICK),--quick) $(WITH)

test: lint check  ## everything that CI checks
