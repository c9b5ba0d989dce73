#!/usr/bin/env bash
# Configures a preset when that is due, and builds it.
# usage: scripts/build.sh PRESET [--tests] [CMAKE_BUILD_OPTION...]
# --tests: with tests and benchmarks; once on, they stay on for that build folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset="$1"
shift
folder="build/$preset"
stamp="$folder/.configured_with"

tests=OFF
if [[ "${1:-}" == --tests ]]; then
  tests=ON
  shift
elif grep -qs '^-DGSD_TESTS=ON$' "$stamp"; then
  tests=ON
fi

# Tests that need PyTorch skip with that reason when there is none.
if ! torch_python="$(scripts/find_torch_python.sh 2>/dev/null)"; then
  torch_python=""
fi
# The system's Python is the one that has the packages of scripts/packages.txt.
python=/usr/bin/python3
[[ -x "$python" ]] || python="$(command -v python3 || true)"

options=(
  "-DGSD_TESTS=$tests"
  "-DGSD_BENCHMARKS=$tests"
  "-DGSD_TORCH_PYTHON=$torch_python"
  "-DPython3_EXECUTABLE=$python"
)
wanted="$(printf '%s\n' "${options[@]}" "$(cksum <CMakePresets.json)")"

# Ninja sees changed CMake files by itself; presets and options it does not.
if [[ ! -f "$folder/build.ninja" || "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]]; then
  fresh=()
  if [[ -f "$folder/CMakeCache.txt" ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt"; then
    fresh=(--fresh) # the checkout was moved or copied
  fi
  cmake --preset "$preset" --no-warn-unused-cli "${fresh[@]}" "${options[@]}"
  printf '%s\n' "$wanted" >"$stamp"
fi
exec cmake --build --preset "$preset" -j "$(nproc)" "$@"
