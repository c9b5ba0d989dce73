#!/usr/bin/env bash
# The CUDA loads on a real GPU: the verifier and the CPU as their oracle, then `bench --device cuda`. Builds nothing.
# usage: tests/gpu/loads.sh [DOCTOR [PROGRAM]]   PROGRAM: gpu_loads of a build folder with tests; none = it was not built
# Exits 77 with the reason where it could not be run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

could_not() {
  echo "could not be run: $*"
  exit 77
}

doctor="${1:-build/release/gradsync-doctor}"
program="${2:-build/release/tests/gpu/gpu_loads}"
[[ -x "$doctor" ]] || could_not "no $doctor (scripts/build.sh release --tests)"
[[ "$program" != none && -x "$program" ]] || could_not "built without nvcc, so without kernels for GPUs"
command -v nvidia-smi >/dev/null || could_not "no nvidia-smi, so no driver for a GPU"
nvidia-smi -L 2>/dev/null | grep -q '^GPU ' || could_not "nvidia-smi shows no GPU"

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
status=0
"$doctor" bench --device cuda --n 1K --algo cast16 --repeat 1 --no-save -q 2>"$folder/errors" || status=$?
if ((status == 3)); then # a driver that is too old, or a GPU
  cat "$folder/errors"
  could_not "see above"
fi

"$program"
"$doctor" bench --device cuda --no-save --json "$folder/bench.json"
"$doctor" bench --device cuda --n 1M --feedback --no-save
python3 - "$folder/bench.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
checks = next(series for series in report["series"] if series["name"] == "load_checks")
failed = [row for row in checks["rows"] if row[3] != 1]
metrics = {metric["name"]: metric["value"] for metric in report["metrics"]}
assert not failed, failed
assert report["facts"]["bench"] == "cuda", report["facts"]
assert metrics["load.topk_histogram.cuda.ms"] > 0
PYTHON
