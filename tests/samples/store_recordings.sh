#!/usr/bin/env bash
# Records every sample again and replaces tests/samples/recordings/*.tar.xz. Look at what changed before committing:
# `recording.*` tests examine these. usage: store_recordings.sh BUILD_FOLDER TORCH_PYTHON [SAMPLE...]
set -euo pipefail
build="$(realpath "$1")"
python="$2"
shift 2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
mkdir -p tests/samples/recordings
samples=("$@")
if ((${#samples[@]} == 0)); then
  samples=(ddp_healthy ddp_topk ddp_topk_hook ddp_topk_in_step ddp_per_tensor ddp_straggler ddp_powersgd ddp_fp16 native_topk)
fi
for sample in "${samples[@]}"; do
  folder="$(mktemp -d)"
  job=("$python" "samples/$sample.py")
  [[ "$sample" == native_topk ]] && job=("$build/samples/native_topk")
  "$build/gradsync-doctor" run -q --json "$folder/report.json" -o "$folder/recording" -- "${job[@]}"
  # One file a sample, the same bytes for the same recording: no owner, no time of packing.
  tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cJf "tests/samples/recordings/$sample.tar.xz" recording
  rm -r "$folder"
done
