#!/usr/bin/env bash
# From a checkout to a diagnosis: installs what is missing, builds, and runs the program on a small training job.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh build demo torch
python="$(scripts/find_torch_python.sh)"
TORCH_PYTHON="$python" scripts/build.sh release

command=(build/release/gradsync-doctor run -- "$python" samples/ddp_topk.py)
printf '\n$ %s\n' "${command[*]}" >&2
exec "${command[@]}"
