#!/usr/bin/env bash
# The NCCL backend of the sweep on real GPUs: every operation and type, results checked. Builds nothing.
# usage: tests/gpu/sweep.sh [PROGRAM]   PROGRAM: nccl_ranks of a build folder with tests
# With one GPU two ranks share it, which takes NCCL 2.30 or newer. Exits 77 with the reason where it could not be run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

could_not() {
  echo "could not be run: $*"
  exit 77
}

program="${1:-build/release/tests/fabric/nccl_ranks}"
[[ -x "$program" ]] || could_not "no $program (scripts/build.sh release --tests)"
command -v nvidia-smi >/dev/null || could_not "no nvidia-smi, so no driver for a GPU"
gpus="$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)"
((gpus > 0)) || could_not "nvidia-smi shows no GPU"

ranks="$gpus"
if ((gpus == 1)); then
  ranks=2
  export NCCL_MULTI_RANK_GPU_ENABLE=1
elif ((gpus > 8)); then
  ranks=8
fi

errors="$(mktemp)"
trap 'rm -f "$errors"' EXIT
status=0
"$program" "$ranks" 20 4 1024 16384 65536 1048576 16777216 67108864 2>"$errors" || status=$?
cat "$errors" >&2
if ((status != 0)); then
  grep -q "cannot use NCCL" "$errors" && could_not "NCCL was not found or is too old, see above"
  grep -q "cannot use the CUDA runtime" "$errors" && could_not "the CUDA runtime was not found, see above"
  grep -q "two ranks on one GPU" "$errors" &&
    could_not "one GPU for two ranks takes NCCL 2.30 or newer (pip install 'nvidia-nccl-cu13>=2.30')"
fi
exit "$status"
