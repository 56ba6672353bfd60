# Every target sets up what it needs, on a fresh Debian 12 with Swift 6.3 and Python 3.11.
#
#   make demo             the same API requests from Swift, C and Python, against a bundled server. It takes three to five
#                         minutes the first time, most of it building, and seconds later. With a wheel in dist (make
#                         packages) it builds nothing, and shows C and Python.
#   make demo URL=https:  instead, one GET of that URL from each language
#   make test             every test, suites side by side; at the end the slowest tests, and what failed. A failed test is
#                         run once more: two that pass then leave the run green, none with STRICT=1
#   make test-quick       the tests that need no server: those of the Swift core, the layers, the tools. It builds only the
#                         Swift tests, and after a small change only what has changed
#   make check            checks formats, lints, types, layers, the C code with clang, and the C interface against
#                         the last release
#   make format           formats all code
#   make test-tsan        the concurrent tests under ThreadSanitizer; test-asan under AddressSanitizer
#   make test-systems     the packages in dist on Debian 12 and 13: install them, run the tests of C and Python with the
#                         system's libcurl and Python, uninstall; and the tests with the wheel's libcurl and with the newest.
#                         It takes most of an hour, and the first time some minutes more for the folders of the systems
#   make test-pythons     the central Python tests on each interpreter of the machine: CPython 3.9 to 3.14, debug builds, PyPy
#   make test-transports  the test suites of httpx and requests with NTApi's transports under them: five minutes
#   make test-sdks        NTApi's own tests of its transports, with SDKs and tools above them, then test-transports
#   make test-frameworks  the programs in Swift for Hummingbird and NIO, gunicorn's gevent worker, and Qt's example: five
#                         minutes the first time, most of it building Hummingbird
#   make test-options     the library built without its log lines
#   make stress           100,000 requests against a misbehaving server, from Swift and C, under both sanitizers
#   make bench            compares the library with its peers, in under ten minutes; bench-full takes longer and measures more
#   make check-cost       instructions and allocations of a request against their budget; UPDATE=1 writes a new budget
#   make soak             kills a process with a background session 200 times (or KILLS=1000), and disturbs requests at random
#                         moments for ten minutes (or DURATION=3600 seconds) in C and in Python; forks 5,000 new processes
#                         (or FORKS=1000) in each
#   make fuzz             fuzzes each parser of outside input for a minute
#   make docs             the documentation site in site/: the pages, and a reference for C, Swift and Python. It takes two
#                         minutes of processor time, and two more if the library has to be compiled
#   make test-docs        looks at each page of the site in Chromium; the screenshots are in build/site/screenshots.
#                         Chromium's DevTools read a HAR
#   make lib              builds build/libntapi.so.0
#   make hiredis          builds the hiredis of libntapi-redis, in .hiredis, from the archive of its Python package
#   make packages         wheels, Debian packages and source archives, in dist: seven minutes on two cores. Two of them go if
#                         the library is compiled already, and three if the wheel's libcurl is
#   make renew-libcurl    pins the newest libcurl of Debian, and OpenSSL of Debian 13, for the wheel
#   make release VERSION=x.y.z   checks, tests and packs a release in about two hours, and says what is left to do; it tags nothing

SHELL := /bin/bash
# Package.swift asks for it. Set it in your shell, too: a build with another value compiles everything again.
export NTAPI_WARNINGS_AS_ERRORS := 1
# For libntapi-redis; without that folder it is that of the system.
export PKG_CONFIG_PATH := $(CURDIR)/.hiredis/lib/pkgconfig$(addprefix :,$(PKG_CONFIG_PATH))
.DELETE_ON_ERROR:
.PHONY: help demo test test-quick test-systems test-pythons test-transports test-sdks test-frameworks test-options check format test-tsan test-asan stress soak fuzz bench bench-full bench-setup check-cost docs test-docs lib packages libcurl renew-libcurl hiredis release clean setup

# Missing packages of these are installed, as root or with sudo.
BUILD_PACKAGES := libcurl4-openssl-dev libjansson-dev zlib1g-dev cmake ninja-build pkg-config gcc g++ libc6-dev binutils python3 python3-venv
TEST_PACKAGES := $(BUILD_PACKAGES) libssl-dev nginx-light redis-server libcmocka-dev libglib2.0-dev libuv1-dev libevent-dev clang-format openssl curl luajit abigail-tools
LIBCURL_PACKAGES := $(BUILD_PACKAGES) make perl dpkg-dev debian-archive-keyring libpsl-dev libidn2-dev libunistring-dev libbrotli-dev libzstd-dev libnghttp2-dev
PACKAGING_PACKAGES := $(LIBCURL_PACKAGES) fakeroot file gzip lintian
DOCS_PACKAGES := doxygen
BENCH_PACKAGES := $(BUILD_PACKAGES) nginx-light openssl strace valgrind
FRAMEWORKS_PACKAGES := qtbase5-dev
PYTHON ?= python3
HIREDIS := .hiredis
VENV := .venv
BENCH_VENV := .venv-bench
DOCS_VENV := .venv-docs
TRANSPORTS_VENV := .venv-transports
FRAMEWORKS_VENV := .venv-frameworks
VENV_PYTHON := $(VENV)/bin/python
PYTHON_TOOLS := -r Tests/servers/requirements.txt -r Tests/tools/requirements.txt
SWIFT_FORMAT := Package.swift Sources Tests bindings/swift Benchmarks/swift
NUMBER = $(shell $(PYTHON) Tests/packaging/check_version.py --print)
SWIFT_CORE = $(shell git ls-files 'Sources/NTApi/*.swift')
C_FORMAT = $(shell git ls-files '*.c' '*.cpp' '*.h')
C_CODE = $(shell git ls-files 'Tests/c/*.c' 'bindings/c/*.c')
PYTHON_CODE := bindings/python Tests bindings/c Benchmarks docs/site cmake
WITH_SERVERS := $(VENV_PYTHON) Tests/servers/run.py --

# What was built before the clone came to this place would fail. It goes before make looks at it, but not with `make -n`.
ifeq ($(MAKELEVEL)$(findstring n,$(firstword -$(MAKEFLAGS))),0)
$(shell command -v $(PYTHON) >/dev/null && $(PYTHON) Tests/tools/moved.py >&2)
endif

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

# With a wheel in dist nothing is built but the small program in C, and nothing is installed.
demo:
	$(if $(wildcard dist/ntapi-*-manylinux_*.whl),,$(call install,$(BUILD_PACKAGES)))
	@$(PYTHON) Tests/tools/demo.py $(URL)

lib:
	$(call install,$(BUILD_PACKAGES))
	@[ -e build/libntapi.so.0 ] || echo "Building the library for the first time. On two cores this takes three to five minutes."
	@cmake -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DNTAPI_TESTS=OFF --log-level=WARNING
	@cmake --build build

setup: $(VENV)/ready hiredis
	$(call install,$(TEST_PACKAGES))

$(VENV)/ready: Tests/servers/requirements.txt Tests/tools/requirements.txt
	$(call install,$(BUILD_PACKAGES))
	$(PYTHON) -m venv $(VENV)
	$(VENV_PYTHON) -m pip install -q $(PYTHON_TOOLS)
	touch $@

hiredis: $(HIREDIS)/ready

$(HIREDIS)/ready: cmake/hiredis.py cmake/hiredis.txt $(VENV)/ready
	$(call install,$(BUILD_PACKAGES) libssl-dev)
	$(VENV_PYTHON) cmake/hiredis.py $(HIREDIS)
	touch $@

# 1: an unstable test, which passes when it is run again, is a failure.
STRICT ?=
RUN_SUITES := $(VENV_PYTHON) Tests/tools/run_suites.py $(if $(STRICT),--strict)

test: setup
	$(WITH_SERVERS) $(RUN_SUITES)

test-quick: $(VENV)/ready hiredis
	$(RUN_SUITES) --quick

# The folder of the systems, filled by the first run; and options, such as SYSTEMS='--on debian13 --only c -R fork'.
SYSTEMS_ROOT ?= .systems
SYSTEMS ?=

test-systems: setup $(if $(wildcard dist/*.deb),,packages)
	$(call install,debootstrap debian-archive-keyring iproute2)
	sudo=; if [ "$$(id -u)" -ne 0 ]; then sudo=sudo; fi; \
	    $$sudo $(VENV_PYTHON) Tests/tools/systems.py --roots $(SYSTEMS_ROOT) $(SYSTEMS)

# Names or paths, in place of all that are found.
PYTHONS ?=

test-pythons: setup
	@[ -e build/libntapi.so.0 ] || $(MAKE) lib
	$(WITH_SERVERS) $(VENV_PYTHON) Tests/tools/pythons.py $(PYTHONS)

# Some of these, and after -- options of pytest: SUITES='httpx2 -- -k cookies'
SUITES ?=

test-transports: $(TRANSPORTS_VENV)/ready
	@[ -e build/libntapi.so.0 ] || $(MAKE) lib
	$(TRANSPORTS_VENV)/bin/python Tests/transports/run_upstream.py $(SUITES)

# The SDKs are those of Tests/servers/requirements.txt.
test-sdks: setup
	@[ -e build/libntapi.so.0 ] || $(MAKE) lib
	NTAPI_LIBRARY=$(CURDIR)/build/libntapi.so.0 PYTHONPATH=$(CURDIR)/bindings/python/src $(WITH_SERVERS) \
	    $(VENV_PYTHON) -m pytest -q --timeout=600 bindings/python/tests/test_transports*.py
	$(MAKE) test-transports

$(TRANSPORTS_VENV)/ready: Tests/transports/requirements.txt
	$(call install,$(BUILD_PACKAGES))
	$(PYTHON) -m venv $(TRANSPORTS_VENV)
	$(TRANSPORTS_VENV)/bin/python -m pip install -q -r Tests/transports/requirements.txt
	touch $@

test-frameworks: setup $(FRAMEWORKS_VENV)/ready
	$(call install,$(FRAMEWORKS_PACKAGES))
	@[ -e build/libntapi.so.0 ] || $(MAKE) lib
	NTAPI_LIBRARY=$(CURDIR)/build/libntapi.so.0 PYTHONPATH=$(CURDIR)/bindings/python/src $(FRAMEWORKS_VENV)/bin/python \
	    Tests/servers/run.py --only weather -- $(FRAMEWORKS_VENV)/bin/python -m pytest -q --timeout=600 \
	    bindings/python/tests/test_frameworks.py -k gevent
	$(VENV_PYTHON) Tests/docs/check_frameworks.py
	@# Qt's example. Its folder is its own, because build may have no tests; the compiled sources are those of `make lib`.
	cmake -B build-frameworks -G Ninja -DCMAKE_BUILD_TYPE=Release -DNTAPI_TESTS=ON \
	    -DNTAPI_SWIFT_SCRATCH=$(CURDIR)/build/swift --log-level=WARNING
	cmake --build build-frameworks --target example_qt
	$(WITH_SERVERS) ctest --test-dir build-frameworks --output-on-failure --no-tests=error -R '\.qt$$'

$(FRAMEWORKS_VENV)/ready: Tests/frameworks/requirements.txt
	$(call install,$(BUILD_PACKAGES))
	$(PYTHON) -m venv $(FRAMEWORKS_VENV)
	$(FRAMEWORKS_VENV)/bin/python -m pip install -q -r Tests/frameworks/requirements.txt
	touch $@

check: setup
	swift format lint --strict -r $(SWIFT_FORMAT)
	clang-format --dry-run -Werror $(C_FORMAT)
	@# The build has GCC. clang, which comes with Swift, finds other mistakes, such as a wrong format for an enum.
	mkdir -p build/check
	$(VENV_PYTHON) Tests/c/robustness_calls.py build/check/robustness_calls.h
	clang -fsyntax-only -std=c11 -Wall -Wextra -Werror -pedantic -D_POSIX_C_SOURCE=200809L -Iinclude -Ibuild/check \
	    $$(pkg-config --cflags libcurl jansson cmocka glib-2.0 libuv libevent_core) $(C_CODE)
	@# No test builds the fuzzers.
	swiftc -typecheck -warnings-as-errors -parse-as-library -swift-version 6 -package-name ntapi -module-name Fuzz \
	    -enable-upcoming-feature InternalImportsByDefault -enable-upcoming-feature ExistentialAny \
	    -I Sources/CJansson -I Sources/CCurl -I Sources/CZlib -I Sources/CScan -I Sources/CNTApiSystem $(SWIFT_CORE) Tests/fuzz/*.swift
	$(VENV)/bin/ruff format --check $(PYTHON_CODE)
	$(VENV)/bin/ruff check $(PYTHON_CODE)
	$(VENV)/bin/mypy
	$(VENV_PYTHON) Tests/layers/check_layers.py
	$(VENV_PYTHON) Tests/layers/check_python.py
	$(VENV_PYTHON) Tests/docs/check_names.py
	$(VENV_PYTHON) Tests/packaging/check_version.py
	$(VENV_PYTHON) Tests/packaging/check_abi.py

format: setup
	swift format -i -r $(SWIFT_FORMAT)
	clang-format -i $(C_FORMAT)
	$(VENV)/bin/ruff format $(PYTHON_CODE)
	$(VENV)/bin/ruff check --fix $(PYTHON_CODE)

# How many requests the stress tests make. A sanitizer makes each about ten times slower.
REQUESTS ?= 3000

test-tsan test-asan: setup
	$(WITH_SERVERS) $(RUN_SUITES) --sanitize $(if $(filter %tsan,$@),thread,address) --requests $(REQUESTS)

test-options: setup
	cmake -B build-options -G Ninja -DCMAKE_BUILD_TYPE=Release -DNTAPI_TESTS=ON -DNTAPI_LOGGING=OFF --log-level=WARNING
	cmake --build build-options
	$(WITH_SERVERS) ctest --test-dir build-options --output-on-failure -R 'c\.(log|request|args|body|attempts)$$'

stress: setup
	$(WITH_SERVERS) $(RUN_SUITES) --sanitize thread --only stress --requests 100000
	$(WITH_SERVERS) $(RUN_SUITES) --sanitize address --only stress --requests 100000

# How often the background session is killed. The seed is printed; NTAPI_SEED sets it.
KILLS ?= 200

# How many new processes fork, in C and in Python.
FORKS ?= 5000

# How many seconds the requests are disturbed.
DURATION ?= 600

soak: setup
	cmake -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DNTAPI_TESTS=ON --log-level=WARNING
	cmake --build build
	$(WITH_SERVERS) build/Tests/c/test_relation $(DURATION)
	$(WITH_SERVERS) build/Tests/c/test_isolation $(DURATION)
	$(WITH_SERVERS) build/Tests/c/test_mailbox 20000
	$(WITH_SERVERS) build/Tests/c/test_fork_first $(FORKS)
	PYTHONPATH=bindings/python/src NTAPI_LIBRARY=$(CURDIR)/build/libntapi.so.0 NTAPI_NESTED=20000 \
	    $(WITH_SERVERS) $(VENV_PYTHON) -m pytest -q bindings/python/tests/test_nested.py -k to_a_limit
	PYTHONPATH=bindings/python/src NTAPI_LIBRARY=$(CURDIR)/build/libntapi.so.0 NTAPI_FORKS=$$(($(FORKS) / 4)) \
	    $(WITH_SERVERS) $(VENV_PYTHON) -m pytest -q -s bindings/python/tests/test_fork_first.py
	PYTHONPATH=bindings/python/src NTAPI_LIBRARY=$(CURDIR)/build/libntapi.so.0 NTAPI_SECONDS=$(DURATION) \
	    $(WITH_SERVERS) $(VENV_PYTHON) -m pytest -q -s bindings/python/tests/test_relation.py
	PYTHONPATH=bindings/python/src NTAPI_LIBRARY=$(CURDIR)/build/libntapi.so.0 NTAPI_KILLS=$(KILLS) \
	    $(WITH_SERVERS) $(VENV_PYTHON) -m pytest -q -s bindings/python/tests/test_background.py \
	    $(if $(wildcard build/libntapi-redis.so),bindings/python/tests/test_fleet.py) -k killed

# OFF: the packages run with glibc 2.35 (Ubuntu 22.04), too, and the library is 0.8 MB larger.
PACK_RELOCATIONS ?= ON

# The wheel's own; the folder has all that is downloaded and built for it.
LIBCURL := build-packages/libcurl

libcurl:
	$(call install,$(LIBCURL_PACKAGES))
	@$(PYTHON) bindings/python/packaging/libcurl.py build $(LIBCURL) $(if $(filter OFF,$(PACK_RELOCATIONS)),--plain-relocations)

renew-libcurl:
	$(call install,$(LIBCURL_PACKAGES))
	@$(PYTHON) bindings/python/packaging/libcurl.py renew $(LIBCURL)

# The time in packages and archives, so that two builds of a commit have the same.
packages: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null)
packages: setup libcurl
	$(call install,$(PACKAGING_PACKAGES))
	$(VENV_PYTHON) Tests/packaging/check_version.py
	@# Its own folder for the prefix; the compiled sources are those of `make lib`.
	cmake -B build-packages -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
	    -DNTAPI_SWIFT_SCRATCH=$(CURDIR)/build/swift -DNTAPI_PACK_RELOCATIONS=$(PACK_RELOCATIONS) -DNTAPI_REDIS=ON \
	    -DNTAPI_OPENSSL=$(CURDIR)/$(LIBCURL)/sources/openssl/tree --log-level=WARNING
	cmake --build build-packages --target all ntapi_redis_wheel
	rm -rf dist build-packages/cpack
	NTAPI_LIBRARY=$(CURDIR)/build-packages/libntapi.so.0 $(VENV_PYTHON) -m build --outdir dist bindings/python >build-packages/wheel.log \
	    || { cat build-packages/wheel.log; exit 1; }
	$(VENV_PYTHON) bindings/python/packaging/bundle.py dist/ntapi-*-linux_*.whl dist $(LIBCURL)
	$(VENV_PYTHON) bindings/python/packaging/redis_wheel.py build-packages/wheel/libntapi-redis.so.0 dist $(LIBCURL) $(HIREDIS)
	cd build-packages && cpack --config CPackConfig.cmake -B cpack >cpack.log || { cat cpack.log; exit 1; }
	$(VENV_PYTHON) cmake/debian/finish.py build-packages/cpack/*.deb build-packages/cpack/*.ddeb
	mv build-packages/cpack/*.deb build-packages/cpack/*.ddeb dist
	@# The tag is about Debian's own bug tracker.
	lintian --allow-root --fail-on error --suppress-tags initial-upload-closes-no-bugs dist/*.deb
	git archive --format=tar.gz --prefix=ntapi-$(NUMBER)/ -o dist/ntapi-$(NUMBER)-source.tar.gz HEAD
	$(VENV_PYTHON) bindings/python/packaging/sbom.py dist/ntapi-$(NUMBER).cdx.json
	(cd dist && LC_ALL=C sha256sum *) >build-packages/SHA256SUMS && mv build-packages/SHA256SUMS dist
	$(VENV_PYTHON) Tests/packaging/check_dist.py dist

# Before it: the number, and the day in CHANGELOG.md (CONTRIBUTING.md).
release: setup
	@[ "$(origin VERSION)" = "command line" ] || { echo "Say which: make release VERSION=$(NUMBER)" >&2; exit 1; }
	$(VENV_PYTHON) Tests/packaging/check_version.py $(VERSION)
	@git diff --quiet HEAD && [ -z "$$(git ls-files --others --exclude-standard)" ] \
	    || { echo "Commit what has changed first; a release is a commit." >&2; exit 1; }
	@! git rev-parse -q --verify refs/tags/v$(VERSION) >/dev/null || { echo "The tag v$(VERSION) exists." >&2; exit 1; }
	$(MAKE) check
	$(VENV_PYTHON) Tests/packaging/check_abi.py --update
	@git diff --exit-code --stat cmake/ntapi.abi Tests/packaging/frozen \
	    || { echo "Commit what has changed: the next release is compared with it. Then run this again." >&2; exit 1; }
	$(MAKE) test STRICT=1
	$(MAKE) test-sdks
	$(MAKE) test-frameworks
	$(MAKE) test-tsan REQUESTS=1000
	$(MAKE) packages
	$(MAKE) test-systems
	@echo
	@echo "Version $(VERSION) is checked, tested and in dist. Nothing was tagged or published. What is left:"
	@echo "  1. git tag -a v$(VERSION) -m 'Version $(VERSION)' $$(git rev-parse --short HEAD) && git push origin v$(VERSION)"
	@echo "  2. gpg --armor --detach-sign dist/SHA256SUMS"
	@echo "  3. twine upload dist/ntapi-$(VERSION).tar.gz dist/ntapi*-$(VERSION)-*-manylinux_*.whl"
	@echo "     (the index takes no plain linux wheels)"
	@echo "  4. Attach all of dist to the tag, with this version's part of CHANGELOG.md"
	@echo "  5. A heading for the next version in CHANGELOG.md"

fuzz: setup
	$(VENV_PYTHON) Tests/tools/fuzz.py

docs: lib $(DOCS_VENV)/ready
	$(call install,$(DOCS_PACKAGES))
	$(DOCS_VENV)/bin/python docs/site/build.py

test-docs: docs
	$(call install,chromium fonts-dejavu-core)
	$(DOCS_VENV)/bin/python docs/site/look.py
	NTAPI_LIBRARY=$(CURDIR)/build/libntapi.so.0 PYTHONPATH=$(CURDIR)/bindings/python/src \
	    $(DOCS_VENV)/bin/python docs/site/devtools.py

$(DOCS_VENV)/ready: docs/site/requirements.txt
	$(call install,$(BUILD_PACKAGES))
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install -q -r docs/site/requirements.txt
	touch $@

bench-setup: lib libcurl $(BENCH_VENV)/ready
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
	rm -rf build build-* dist .build .hiredis site $(VENV) $(VENV)-pythons $(BENCH_VENV) $(DOCS_VENV) $(TRANSPORTS_VENV) Benchmarks/results
