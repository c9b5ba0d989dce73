# The conventional verbs; the work is in scripts/ and CMakePresets.json.
# Variables: TORCH_PYTHON=/path/python  a Python that has PyTorch; PREFIX, DESTDIR  for install.

PREFIX ?= /usr/local
TORCH_PYTHON ?=
export TORCH_PYTHON

.NOTPARALLEL:
.PHONY: help demo build cuda-all lab test test-versions lint format bench fuzz asan tsan install clean

help:
	@echo "make demo      install what is missing, build, and diagnose samples/ddp_topk.py"
	@echo "make test      lint, then every test"
	@echo "make build     the program only, in build/release"
	@echo "make test-versions   the injected library against released CUPTIs and NCCLs (downloads them)"
	@echo "make lint      formatting, layers, names, coverage of the article, clang-tidy"
	@echo "make format    let clang-format rewrite the sources"
	@echo "make bench     the benchmarks"
	@echo "make lab       as root, on a quiet machine: remedies against the samples that they cure, and 20 healthy trainings, measured"
	@echo "make fuzz      FUZZ_SECONDS=$(FUZZ_SECONDS): each importer against broken input, under sanitizers"
	@echo "make cuda-all  the kernels of bench --device cuda for every architecture that nvcc knows: takes minutes"
	@echo "make asan      every test under AddressSanitizer and UBSan;  make tsan: ThreadSanitizer"
	@echo "make install   PREFIX=$(PREFIX), DESTDIR for packagers"
	@echo "make clean     remove build/"
	@echo
	@echo "TORCH_PYTHON=/path/python names a Python that has PyTorch (else: python3, /usr/bin/python3, Debian's)"

demo:
	@scripts/demo.sh

build:
	@scripts/setup.sh build
	@scripts/build.sh release

# Tests that need PyTorch skip with that reason where it cannot be had.
build_tests = scripts/setup.sh build demo torch test && scripts/build.sh $(1) --tests

test:
	@$(call build_tests,release)
	@scripts/lint.sh
	@$(build_fuzzers)
	@ctest --preset release -j "$$(nproc)"

# Libraries of many releases, from PyPI: not part of make test.
test-versions:
	@$(call build_tests,release)
	@for script in tests/versions/*_versions.py; do GSD_TEST_PROGRAMS=build/release/tests/inject \
	  GSD_TEST_LIBRARY="$$PWD/build/release/collectors/inject/libgradsync_inject.so" python3 "$$script" || exit 1; done

lint:
	@$(call build_tests,release)
	@scripts/lint.sh

format:
	@scripts/setup.sh test
	@scripts/lint.sh --format

bench:
	@$(call build_tests,release)
	@cmake --build --preset release --target bench

# What takes long or depends on times: remedies over a slow link between two network namespaces, and healthy trainings
# under --quality. Prints what was measured.
lab: build
	@date -u +"%F %T UTC, $$(nproc) CPUs, load $$(cut -d' ' -f1-3 /proc/loadavg), $$(uname -r)"
	@GSD_LAB=1 GSD_TORCH_PYTHON="$$(scripts/find_torch_python.sh)" python3 tests/net/test_remedies.py
	@python3 tests/samples/check_problem.py build/release/gradsync-doctor --healthy 20 "$$(scripts/find_torch_python.sh)"

# Each importer's fuzzer for FUZZ_SECONDS; make test gives each 15.
FUZZ_SECONDS ?= 300
build_fuzzers = if command -v clang++ >/dev/null; then scripts/build.sh fuzz; fi
fuzz:
	@scripts/setup.sh build test
	@$(build_fuzzers)
	@for source in tests/fuzz/*_fuzz.cpp; do \
	  tests/fuzz/run.sh "$$(basename "$$source" _fuzz.cpp)" $(FUZZ_SECONDS) || exit 1; done

asan tsan:
	@$(call build_tests,$@)
	@ctest --preset $@ -j "$$(nproc)"

# Stays so for build/release; -DGSD_CUDA_ARCHITECTURES=75 goes back.
cuda-all: build
	@cmake -DGSD_CUDA_ARCHITECTURES=all build/release
	@cmake --build --preset release --target gradsync_cuda_loads

# Builds only when nothing is built yet, so that `sudo make install` leaves no files of root in build/.
install:
	@[ -x build/release/gradsync-doctor ] || $(MAKE) build
	@cmake --install build/release --prefix "$(PREFIX)"

clean:
	@rm -rf build
