#!/usr/bin/env bash
# Runs every benchmark of a build folder and writes what they print to benchmarks/results/<date>.txt too, under a head
# that says what machine this is. usage: benchmarks/run_all.sh BUILD_FOLDER
set -euo pipefail
build="$(realpath "$1")"
cd "$(dirname "${BASH_SOURCE[0]}")"
python="${GSD_TORCH_PYTHON:-python3}"
export GSD_TEST_LIBRARY="$build/collectors/inject/libgradsync_inject.so"
export GSD_LIBRARY="$GSD_TEST_LIBRARY"

head_of_table() {
  printf 'date      %s\n' "$(date -u +%Y-%m-%d)"
  printf 'machine   %s, %s CPUs\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)"
  printf 'system    Linux %s, %s\n' "$(uname -r)" "$(c++ --version | head -n 1)"
  printf 'program   %s, %s\n' "$("$build/gradsync-doctor" --version)" "$(git rev-parse --short HEAD 2>/dev/null || echo 'no git')"
  printf 'python    %s\n' "$("$python" -c 'import sys
try:
    import torch
    name = "torch " + torch.__version__
except ImportError:
    name = "no torch"
print(sys.version.split()[0] + ", " + name)')"
}

run_all() {
  head_of_table
  printf '\n== starting the program ==\n'
  ./start_time.py "$build/gradsync-doctor"
  printf '\n== reading a recording ==\n'
  "$build/benchmarks/spool_read"
  "$build/benchmarks/trace_write"
  printf '\n== NVTX ranges through the injection ==\n'
  "$build/benchmarks/nvtx_overhead" "$GSD_TEST_LIBRARY"
  printf '\n== an event from Python ==\n'
  "$python" ./event_cost.py
  printf '\n== the hook in a training step ==\n'
  "$python" ./hook_overhead.py --step-ms 50 --pairs 350
  "$python" ./hook_overhead.py --step-ms 5
  if [[ -x "$build/benchmarks/kineto_read" ]]; then
    printf '\n== reading a Kineto trace ==\n'
    "$build/benchmarks/kineto_read"
  fi
  printf '\n== reference compressors ==\n'
  "$python" ./compressors.py "$build/benchmarks/libcompressors_library.so"
  printf '\n== analysing traces ==\n'
  "$python" ./vs_hta.py "$build/gradsync-doctor"
  printf '\n== reading an Nsight Systems export ==\n'
  "$build/benchmarks/nsys_read"
  if [[ -x "$build/benchmarks/fabric_gloo" ]]; then
    printf '\n== a collective as the sweep times it ==\n'
    "$build/benchmarks/fabric_gloo" "$build/plugins"
  fi
  printf '\n== sampling user copies ==\n'
  "$build/benchmarks/copy_sampler"
  if [[ "$EUID" -eq 0 ]] && command -v perf >/dev/null; then
    printf '\n== watching the scheduler ==\n'
    "$python" ./host_tracing.py "$build/gradsync-doctor"
  fi
  printf '\n== interrupts of a quiet machine ==\n'
  GSD_DOCTOR="$build/gradsync-doctor" "$python" ./quiet_irq.py || true
  printf '\n== the cliff test ==\n'
  "$build/benchmarks/cliff_power"
  printf '\n== the comparison of runs ==\n'
  "$build/benchmarks/compare_power"
}

mkdir -p results
run_all | tee "results/$(date -u +%Y-%m-%d).txt"
