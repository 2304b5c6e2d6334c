# Every target makes its own private environment; the machine needs Python >= 3.10 and make, nothing else.
#   PYTHON=...  the interpreter to make it with (default: the first fitting one on PATH)
#   VENV=...    where it lives                  JOBS=...  how many tests run at a time
PYTHON ?=
VENV ?= .venv
JOBS ?=
#   CPUS=...    what `test-targets` compiles for, one after the other
CPUS ?= x86-64-v2 x86-64-v3 x86-64-v4 znver3 znver4 skylake alderlake

export PYTHON VENV
RUN := $(VENV)/bin/python
TESTS = $(RUN) test/run.py $(if $(JOBS),--jobs $(JOBS))

.PHONY: help demo quick test test-targets test-aarch64 conformance random-models check docs bench bench-models peers clean

help: ## show this list
	@sed -n 's/^\([a-z0-9-]*\): .*## /make \1: /p' Makefile

demo: ## compile a digits classifier with a dynamic batch and run it
	@.ci/environment demo
	@$(RUN) examples/digits.py

quick: ## lint, and the tests that need no native code: two minutes
	@.ci/environment test,dev
	@$(RUN) -m ruff check
	@$(RUN) -m ruff format --check --quiet
	@$(TESTS) --quick

test: ## run all tests, and name the slowest
	@.ci/environment test
	@$(TESTS)

test-targets: ## run all tests once for each of several CPUs
	@.ci/environment test
	@$(TESTS) $(CPUS)

test-aarch64: ## run the numeric tests for AArch64, in an emulator of the processor
	@.ci/environment test
	@RELAX_MLIR_TARGET="llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -num-threads=1" \
	  $(RUN) -m pytest -q $(if $(JOBS),-n $(JOBS)) test/numerics

conformance: ## run the node tests of onnx and count those that pass
	@.ci/environment test
	@$(RUN) test/frontend/onnx/conformance.py

random-models: ## compare 10,000 random models (ONNX, or FRAMEWORK=torch) with what they come from
	@.ci/environment test
	@$(RUN) test/support/random_models.py --count 10000 --framework $(or $(FRAMEWORK),onnx)

# A type checker cannot follow the mapping of dialects/ and lowering/ into the package, so it reads a copy.
check: ## lint, formatting, types, documentation, then all tests
	@.ci/environment test,dev,docs
	@$(RUN) -m ruff check
	@$(RUN) -m ruff format --check
	@rm -rf build/typecheck && mkdir -p build/typecheck
	@cp -R relax_mlir build/typecheck && cp -R dialects lowering build/typecheck/relax_mlir
	@$(RUN) -m pyright --pythonpath $(RUN)
	@$(RUN) .ci/type_completeness
	@$(RUN) .ci/stubs --check
	@$(RUN) .ci/stubs --check --bindings
	@$(RUN) -m mkdocs build --quiet --strict
	@$(TESTS)

docs: ## build the documentation into build/docs and check its links
	@.ci/environment docs
	@$(RUN) -m mkdocs build --quiet --strict

bench: ## run every benchmark
	@.ci/environment demo,bfloat16
	@for file in benchmarks/bench_*.py; do echo "== $$file"; $(RUN) "$$file" || exit 1; done
	@$(RUN) benchmarks/kernels.py --peers-python .venv-peers/bin/python --out bench-output

# Not a dependency of anything: what is compared with, some 2 GB, in an environment of its own.
.venv-peers: benchmarks/peers/requirements.txt
	@.ci/environment test
	@test -x .venv-peers/bin/python || $(RUN) -m venv .venv-peers
	@.venv-peers/bin/python -m pip --disable-pip-version-check install -qq -r benchmarks/peers/requirements.txt
	@touch .venv-peers

peers: .venv-peers ## compare the kernels with ONNX Runtime, OpenVINO, IREE and PyTorch
	@$(RUN) benchmarks/kernels.py --peers-python .venv-peers/bin/python --out bench-output

bench-models: .venv-peers ## compare whole models with them: time, memory, load, import and build
	@$(RUN) benchmarks/models --peers-python .venv-peers/bin/python --out bench-output/models

clean: ## remove the environment and everything generated
	rm -rf $(VENV) .venv-peers build dist demo-output bench-output *.egg-info .hypothesis .pytest_cache .ruff_cache
