# Every target sets up what it needs, on a fresh Debian 12 with Swift 6.3 and Python 3.11.
#
#   make demo             the same API requests from Swift, C and Python, against a bundled server
#   make demo URL=https:  instead, one GET of that URL from each language
#   make test             every test
#   make check            checks formats, lints, types and layers
#   make format           formats all code
#   make test-tsan        the concurrent tests under ThreadSanitizer; test-asan under AddressSanitizer
#   make test-debian13    the C and the Python tests on Debian 13, with its libcurl, with the library built here
#   make test-options     the library built without its log lines
#   make stress           100,000 requests against a misbehaving server, from Swift and C, under both sanitizers
#   make bench            compares the library with its peers, in under ten minutes; bench-full takes longer and measures more
#   make check-cost       instructions and allocations of a request against their budget; UPDATE=1 writes a new budget
#   make soak             kills a process with a background session 200 times (or KILLS=1000), and disturbs requests at random
#                         moments for ten minutes (or DURATION=3600 seconds) in C and in Python
#   make fuzz             fuzzes each parser of outside input for a minute
#   make docs             the documentation site in site/: the pages, and a reference for C, Swift and Python
#   make test-docs        looks at each page of the site in Chromium; the screenshots are in build/site/screenshots
#   make lib              builds build/libntapi.so.0

SHELL := /bin/bash
# Package.swift asks for it. Set it in your shell, too: a build with another value compiles everything again.
export NTAPI_WARNINGS_AS_ERRORS := 1
.DELETE_ON_ERROR:
.PHONY: help demo test test-debian13 test-options check format test-tsan test-asan stress soak fuzz bench bench-full bench-setup check-cost docs test-docs lib clean setup

# Missing packages of these are installed, as root or with sudo.
BUILD_PACKAGES := libcurl4-openssl-dev libjansson-dev cmake ninja-build pkg-config gcc g++ libc6-dev binutils python3 python3-venv
TEST_PACKAGES := $(BUILD_PACKAGES) nginx-light libcmocka-dev libglib2.0-dev clang-format openssl curl luajit
DOCS_PACKAGES := doxygen
BENCH_PACKAGES := $(BUILD_PACKAGES) nginx-light openssl strace valgrind
PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench
DOCS_VENV := .venv-docs
VENV_PYTHON := $(VENV)/bin/python
PYTHON_TOOLS := -r Tests/servers/requirements.txt -r Tests/tools/requirements.txt
SWIFT_FORMAT := Package.swift Sources Tests bindings/swift Benchmarks/swift
C_FORMAT = $(shell git ls-files '*.c' '*.h')
PYTHON_CODE := bindings/python Tests bindings/c Benchmarks docs/site
WITH_SERVERS := $(VENV_PYTHON) Tests/servers/run.py --

define install
	@missing=$$(dpkg-query -W -f '$${Package} $${db:Status-Status}\n' $(1) 2>/dev/null | awk '$$2 == "installed" {print $$1}' \
	    | sort | comm -13 - <(printf '%s\n' $(1) | sort)); \
	if [ -n "$$missing" ]; then \
	    sudo=; \
	    if [ "$$(id -u)" -ne 0 ]; then \
	        sudo=sudo; \
	        command -v sudo >/dev/null || { echo "These Debian packages are missing, and there is no sudo. Install them as root:" >&2; \
	            echo "    apt-get install" $$missing >&2; exit 1; }; \
	    fi; \
	    echo "Installing the missing Debian packages. By hand: $$sudo apt-get install" $$missing; \
	    $$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi
endef

# The comment at the top of this file.
help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

demo: lib
	@$(PYTHON) Tests/tools/demo.py $(URL)

lib:
	$(call install,$(BUILD_PACKAGES))
	@[ -e build/libntapi.so.0 ] || echo "Building the library for the first time. On two cores this takes about three minutes."
	@cmake -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DNTAPI_TESTS=OFF --log-level=WARNING
	@cmake --build build

setup: $(VENV)/ready
	$(call install,$(TEST_PACKAGES))

$(VENV)/ready: Tests/servers/requirements.txt Tests/tools/requirements.txt
	$(call install,$(BUILD_PACKAGES))
	$(PYTHON) -m venv $(VENV)
	$(VENV_PYTHON) -m pip install -q $(PYTHON_TOOLS)
	touch $@

test: setup
	$(WITH_SERVERS) $(VENV_PYTHON) Tests/tools/run_suites.py

# The folder for Debian 13, made by the first run; and options, such as DEBIAN13='--only c -R fork'.
DEBIAN13_ROOT ?= .debian13
DEBIAN13 ?=

test-debian13: setup
	$(call install,debootstrap debian-archive-keyring)
	cmake -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DNTAPI_TESTS=ON --log-level=WARNING
	cmake --build build
	sudo=; if [ "$$(id -u)" -ne 0 ]; then sudo=sudo; fi; \
	    $$sudo $(VENV_PYTHON) Tests/tools/debian13.py --root $(DEBIAN13_ROOT) $(DEBIAN13)

check: setup
	swift format lint --strict -r $(SWIFT_FORMAT)
	clang-format --dry-run -Werror $(C_FORMAT)
	$(VENV)/bin/ruff format --check $(PYTHON_CODE)
	$(VENV)/bin/ruff check $(PYTHON_CODE)
	$(VENV)/bin/mypy
	$(VENV_PYTHON) Tests/layers/check_layers.py

format: setup
	swift format -i -r $(SWIFT_FORMAT)
	clang-format -i $(C_FORMAT)
	$(VENV)/bin/ruff format $(PYTHON_CODE)
	$(VENV)/bin/ruff check --fix $(PYTHON_CODE)

# How many requests the stress tests make. A sanitizer makes each about ten times slower.
REQUESTS ?= 3000

test-tsan test-asan: setup
	$(WITH_SERVERS) $(VENV_PYTHON) Tests/tools/run_suites.py --sanitize $(if $(filter %tsan,$@),thread,address) --requests $(REQUESTS)

test-options: setup
	cmake -B build-options -G Ninja -DCMAKE_BUILD_TYPE=Release -DNTAPI_TESTS=ON -DNTAPI_LOGGING=OFF --log-level=WARNING
	cmake --build build-options
	$(WITH_SERVERS) ctest --test-dir build-options --output-on-failure -R 'c\.(log|request|args|body|attempts)$$'

stress: setup
	$(WITH_SERVERS) $(VENV_PYTHON) Tests/tools/run_suites.py --sanitize thread --only stress --requests 100000
	$(WITH_SERVERS) $(VENV_PYTHON) Tests/tools/run_suites.py --sanitize address --only stress --requests 100000

# How often the background session is killed. The seed is printed; NTAPI_SEED sets it.
KILLS ?= 200

# How many seconds the requests are disturbed.
DURATION ?= 600

soak: setup
	cmake -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DNTAPI_TESTS=ON --log-level=WARNING
	cmake --build build
	$(WITH_SERVERS) build/Tests/c/test_relation $(DURATION)
	PYTHONPATH=bindings/python/src NTAPI_LIBRARY=$(CURDIR)/build/libntapi.so.0 NTAPI_SECONDS=$(DURATION) \
	    $(WITH_SERVERS) $(VENV_PYTHON) -m pytest -q -s bindings/python/tests/test_relation.py
	PYTHONPATH=bindings/python/src NTAPI_LIBRARY=$(CURDIR)/build/libntapi.so.0 NTAPI_KILLS=$(KILLS) \
	    $(WITH_SERVERS) $(VENV_PYTHON) -m pytest -q -s bindings/python/tests/test_background.py -k killed

fuzz: setup
	$(VENV_PYTHON) Tests/tools/fuzz.py

docs: lib $(DOCS_VENV)/ready
	$(call install,$(DOCS_PACKAGES))
	$(DOCS_VENV)/bin/python docs/site/build.py

test-docs: docs
	$(call install,chromium fonts-dejavu-core)
	$(DOCS_VENV)/bin/python docs/site/look.py

$(DOCS_VENV)/ready: docs/site/requirements.txt
	$(call install,$(BUILD_PACKAGES))
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install -q -r docs/site/requirements.txt
	touch $@

bench-setup: lib $(BENCH_VENV)/ready
	$(call install,$(BENCH_PACKAGES))

$(BENCH_VENV)/ready: Benchmarks/requirements.txt
	$(call install,$(BENCH_PACKAGES))
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install -q -r Benchmarks/requirements.txt
	touch $@

# Where the plot is written. The README shows docs/performance.svg.
PLOT ?= Benchmarks/results/last.svg

bench: bench-setup
	$(PYTHON) Benchmarks/bench.py --plot $(PLOT) $(BENCH)

bench-full: bench-setup
	$(PYTHON) Benchmarks/bench.py --full --plot $(PLOT) $(BENCH)

check-cost: bench-setup
	$(PYTHON) Benchmarks/check_cost.py $(if $(UPDATE),--update) $(COST)

clean:
	rm -rf build build-* .build site $(VENV) $(BENCH_VENV) $(DOCS_VENV) Benchmarks/results
