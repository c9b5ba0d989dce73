#!/usr/bin/env bash
# Everything that takes a real GPU, in one go; ends in a table. Builds nothing.
# usage: tests/gpu/run.sh [BUILD [OUT]]   BUILD: a build folder with tests (default build/release); OUT: keeps the table
# Needs a driver and a Python with torch for CUDA (TORCH_PYTHON=/path/python). Exits 77 with the reason where there is none.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$(realpath "${1:-$here/../../build/release}")"
out="${2:-}"

could_not() {
  echo "could not be run: $*"
  exit 77
}

[[ -x "$build/gradsync-doctor" ]] || could_not "no $build/gradsync-doctor (scripts/build.sh release --tests, on any machine)"
command -v nvidia-smi >/dev/null || could_not "no nvidia-smi, so no driver for a GPU"
gpus="$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)"
((gpus > 0)) || could_not "nvidia-smi shows no GPU"
python="${TORCH_PYTHON:-python3}"
"$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null ||
  could_not "$python has no torch that sees the GPU (TORCH_PYTHON=/path/python)"

failed=()
part() { # NAME COMMAND...: 77 = could not be judged
  local status=0 name="$1"
  shift
  echo "== $name"
  "$@" || status=$?
  ((status == 0 || status == 77)) || failed+=("$name")
}

part "the CUDA loads against the CPU" "$here/loads.sh" "$build/gradsync-doctor" "$build/tests/gpu/gpu_loads"
part "the NCCL backend of sweep" "$here/sweep.sh" "$build/tests/fabric/nccl_ranks"
GSD_GPUS="$gpus" part "the collectors" "$python" "$here/measure.py" "$build" ${out:+--out "$out"}
if ((${#failed[@]} > 0)); then
  echo "failed: ${failed[*]}"
  exit 1
fi
