#!/usr/bin/env bash
# Runs one fuzzer of build/fuzz for some seconds, from the project's own seeds. What it finds is kept in build/fuzz/found.
# usage: tests/fuzz/run.sh NAME SECONDS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
name="$1" seconds="$2"
program="build/fuzz/tests/fuzz/${name}_fuzz"
if [[ ! -x "$program" ]]; then
  echo "skipped: $program is not built (needs clang: scripts/build.sh fuzz)"
  exit 77
fi
corpus="$(mktemp -d)"
trap 'rm -rf "$corpus"' EXIT
mkdir -p build/fuzz/found
seeds=()
[[ -d "tests/fuzz/seeds/$name" ]] && seeds=("tests/fuzz/seeds/$name")
"$program" "$corpus" "${seeds[@]}" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
  -print_final_stats=1 -verbosity=0 -artifact_prefix="build/fuzz/found/$name-"
