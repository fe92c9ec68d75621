# `make demo` and `make test` are all a newcomer needs; `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

export CARGO_TARGET_DIR ?= $(CURDIR)/target
export PATH := $(PATH):$(HOME)/.cargo/bin
RELEASE := $(CARGO_TARGET_DIR)/release
PYTHON := .venv/bin/python
CARGO_FLAGS := --release --workspace --locked

say := @printf '==> %s\n'

.PHONY: help
help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: setup ## Build, run real programs on an emulated CXL-SSD, write a report with pictures
	$(say) "demo: real programs on an emulated CXL-SSD, one to two minutes"
	@$(PYTHON) -m sluice.demo --sluice $(RELEASE)/sluice --out demo-out

.PHONY: test
test: setup lint test-rust test-python docs-check ## Build, lint, and run every test
	$(say) "all tests passed"

.PHONY: test-rust
test-rust: build
	@scripts/system oracle emulator
	$(say) "Rust tests"
	@cargo test $(CARGO_FLAGS) --no-fail-fast

# What computes, and what reads and writes files.
CHECKED := sluice-units sluice-lists sluice-tiering sluice-events sluice-stats sluice-abi \
	sluice-model sluice-cxl sluice-host sluice-net sluice-driver sluice-config sluice-trace \
	sluice-streams sluice-kernels sluice-replay sluice-workload sluice-simulation sluice-results

.PHONY: test-checked
test-checked: system ## The tests of what computes, where an overflow or a broken assertion fails
	$(say) "Rust tests with overflow checks and debug assertions"
	@cargo test --profile checked --locked --no-fail-fast --quiet $(addprefix -p ,$(CHECKED))

.PHONY: test-python
test-python: setup
	@scripts/system browser oracle
	$(say) "Python tests"
	@$(PYTHON) -m pytest

.PHONY: lint
lint: system .venv/.requirements ## Check formatting, prose and types, run clippy and ruff
	$(say) "formatting, prose, clippy, ruff and mypy"
	@python3 scripts/prose.py
	@cargo fmt --all --check
	@.venv/bin/ruff check --quiet
	@.venv/bin/mypy --no-error-summary
	@cargo clippy $(CARGO_FLAGS) --all-targets --quiet -- -D warnings

.PHONY: setup
setup: build .venv/.sluice ## Build, and make .venv with the Python package

.PHONY: build
build: system ## Build the command, the preload library and everything else
	@scripts/build $(CARGO_FLAGS)

.PHONY: system
system:
	@scripts/system

.venv/.requirements: python/requirements.txt scripts/python
	@scripts/python requirements
	@touch $@

.venv/.sluice: .venv/.requirements pyproject.toml Cargo.lock scripts/python \
		$(shell find crates presets -name '*.rs' -o -name '*.toml')
	@scripts/python package
	@touch $@

.PHONY: wheel
wheel: setup ## Make the wheel sluice-cxl: command, libraries, Python package
	$(say) "wheel into $(CARGO_TARGET_DIR)/wheels"
	@PATH="$(CURDIR)/.venv/bin:$$PATH" $(PYTHON) -m pip wheel --quiet --no-deps \
		--no-build-isolation --wheel-dir $(CARGO_TARGET_DIR)/wheels .
	@ls $(CARGO_TARGET_DIR)/wheels

.PHONY: recipes
recipes: setup ## Run every recipe at its default size (half an hour); installs what they need
	@$(PYTHON) -m sluice.recipes run --sluice $(RELEASE)/sluice \
		$$($(PYTHON) -m sluice.recipes list | cut -d ' ' -f 1)

.PHONY: bench
bench: build ## Run the benchmarks; RECORD=1 adds this machine's figures to docs/measurements
	@cargo bench --locked -p sluice-testkit --bench access
	@cargo bench --locked -p sluice-testkit --bench parts
	@cargo bench --locked -p sluice-testkit --bench host
	@cargo bench --locked -p sluice-testkit --bench size
	@cargo bench --locked -p sluice-testkit --bench trace
	@cargo bench --locked -p sluice-cli --bench live
	@cargo bench --locked -p sluice-cli --bench qemu
	@cargo bench --locked -p sluice-cli --bench guest
	@cargo bench --locked -p sluice-cli --bench boot

.PHONY: oracle
oracle: setup ## Compare the eviction policies with libCacheSim, to the last miss (minutes)
	@scripts/system oracle
	@$(PYTHON) tests/oracle/exact.py --traces $(CARGO_TARGET_DIR)/oracle

.PHONY: bench-policies
bench-policies: setup ## Requests a second of the eviction policies beside libCacheSim's
	@$(PYTHON) tests/oracle/speed.py --traces $(CARGO_TARGET_DIR)/oracle

.PHONY: mutants
mutants: ## Change the code COUNT times at random, and count the changes that no test sees (hours)
	@scripts/mutants --seed $(SEED) --count $(COUNT) $(CRATES)

.PHONY: model-mutants
model-mutants: setup ## Which claims notice a simulator that is broken on purpose (20 minutes)
	@$(PYTHON) scripts/model_mutants

# Mutants to draw, and the crates to draw them from: by default those that need no live device.
COUNT ?= 300
CRATES ?=

# How many times the inputs of the property tests, and where they begin.
FUZZ ?= 10
ifndef SEED
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif

.PHONY: fuzz
fuzz: system ## Random requests, files and bits against plain models, from a new seed each time
	$(say) "$(FUZZ) times the inputs of the tests; SEED=$(SEED) draws the same again"
	@SLUICE_FUZZ=$(FUZZ) PROPTEST_CASES=$$((256 * $(FUZZ))) PROPTEST_RNG_SEED=$(SEED) \
		cargo test --release --locked --no-fail-fast \
		-p sluice-units -p sluice-events -p sluice-model -p sluice-cxl -p sluice-host -p sluice-net \
		-p sluice-kernels -p sluice-config \
		-p sluice-abi -p sluice-trace
	@SLUICE_FUZZ=$(FUZZ) SLUICE_SEED=$(SEED) PROPTEST_RNG_SEED=$(SEED) \
		cargo test --release --locked -p sluice-runtime -p sluice-disk \
		--test guest --test sessions --test disk
	$(say) "nearly valid files and traces: what is taken runs"
	@SLUICE_FUZZ=$(FUZZ) PROPTEST_RNG_SEED=$(SEED) \
		cargo test --release --locked -p sluice-testkit --test mutants -- --show-output

# How long the torture takes. SEED draws its rounds, as it does for the property tests.
MINUTES ?= 10

.PHONY: torture
torture: build ## Random programs natively and on the device must agree; MINUTES=60 for an hour
	$(say) "$(MINUTES) minutes of rounds; SEED=$(SEED) draws the same again"
	@python3 tests/torture/run.py --minutes $(MINUTES) --seed $(SEED)

.PHONY: soak
soak: build ## Memory stays right and flat under commands from outside; MINUTES=30 for long
	$(say) "$(MINUTES) minutes, in both modes, with both stores"
	@SLUICE_SOAK_SECONDS=$$(($(MINUTES) * 15)) \
		cargo test --release --locked -p sluice-cli --test live -- soak --nocapture

# Names of suites, such as ONLY=sqlite,node; all of them take hours.
ONLY ?=

.PHONY: conformance
conformance: build ## Other people's test suites natively and on the device; writes a table
	@python3 tests/conformance/run.py --only "$(ONLY)"

.PHONY: bench-fabric-cost
bench-fabric-cost: setup ## Measure and plot what an event of a fabric costs (minutes)
	@$(PYTHON) scripts/fabric_cost.py $(RELEASE)/sluice docs/fabric-cost

.PHONY: bench-growth
bench-growth: setup ## Measure how time and memory grow with the work (20 minutes)
	@$(PYTHON) scripts/growth $(RELEASE)/sluice --out docs/growth

.PHONY: docs
docs: build ## Write docs/reference anew from the program, and all pages into site/
	@python3 scripts/reference.py $(RELEASE)/sluice
	@SLUICE_WRITE_SCHEMAS=1 cargo test $(CARGO_FLAGS:--workspace=) --quiet \
		-p sluice-results --test schemas
	@python3 scripts/results_reference.py
	@python3 scripts/measurements.py
	@SLUICE_WRITE_HEADER=1 cargo test $(CARGO_FLAGS:--workspace=) --quiet \
		-p sluice-testkit --test header
	@$(MAKE) site

.PHONY: site
site: ## Write the pages into site/, and check every link (seconds)
	@python3 scripts/site.py "$$(scripts/mdbook)"

.PHONY: site-look
site-look: ## The same, and open each page in Chromium, wide and narrow, light and dark
	@scripts/system browser
	@python3 scripts/site.py --look "$$(scripts/mdbook)"

.PHONY: docs-check
docs-check: build
	$(say) "docs/reference is what the program says"
	@python3 scripts/reference.py --check $(RELEASE)/sluice
	@python3 scripts/results_reference.py --check
	@python3 scripts/measurements.py --check

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf $(CARGO_TARGET_DIR) .venv demo-out site python/sluice/_core*.so
