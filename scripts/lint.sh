#!/usr/bin/env bash
# Every check that reads the project instead of running it. Needs a finished `make build` (compile database, binary).
# Goes through all of them before it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=/usr/bin/python3
[[ -x "$python" ]] || python=python3
failed=()

check() { # NAME COMMAND...
  local name="$1"
  shift
  printf 'lint: %s\n' "$name"
  "$@" || failed+=("$name")
}

files() { # PATTERN... → tracked files that are there; without git, all but those of build/
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z -- "$@" | while IFS= read -r -d '' file; do
      [[ -f "$file" ]] && printf '%s\0' "$file"
    done
  else
    local names=()
    for pattern in "$@"; do names+=(-o -name "$pattern"); done
    find . -path ./build -prune -o -type f \( "${names[@]:1}" \) -print0
  fi
  return 0
}

formatting() {
  local program=clang-format-14 version
  command -v "$program" >/dev/null || program=clang-format
  version="$("$program" --version | sed -n 's/.*version \([0-9]*\).*/\1/p')"
  if files '*.h' '*.c' '*.cpp' '*.cu' | xargs -0 -r -n 16 -P "$(nproc)" "$program" --dry-run -Werror --ferror-limit=1; then
    return 0
  fi
  if [[ "$version" != 14 ]]; then
    printf 'clang-format %s is not the version that decides (14): the remarks are advice\n' "$version"
    return 0
  fi
  printf 'make format repairs this\n'
  return 1
}

shell_scripts() {
  local status=0
  while IFS= read -r -d '' file; do
    bash -n "$file" || status=1
    if command -v shellcheck >/dev/null; then shellcheck "$file" || status=1; fi
  done < <(files '*.sh' '.ci/run')
  return "$status"
}

long_files() { # advice: a table of data may be longer
  files '*.h' '*.c' '*.cpp' '*.cu' '*.py' | xargs -0 -r wc -l | awk '
    $1 > 400 && $2 != "total" { printf "warning: %s has %d lines; at 400 a file wants splitting\n", $2, $1 }'
}

if [[ "${1:-}" == --format ]]; then
  files '*.h' '*.c' '*.cpp' '*.cu' | xargs -0 -r "$(command -v clang-format-14 || command -v clang-format)" -i
  exit 0
fi

check "formatting" formatting
check "layers" "$python" tests/lint/check_layers.py
check "names" "$python" tests/lint/check_names.py
check "article" "$python" tests/lint/check_article.py
check "golden cases" "$python" tests/lint/check_goldens.py
check "shell scripts" shell_scripts
check "file sizes" long_files
check "clang-tidy" "$python" tests/lint/tidy.py

if [[ "${#failed[@]}" -gt 0 ]]; then
  printf 'lint: failed:'
  printf ' %s;' "${failed[@]}"
  printf '\n'
  exit 1
fi
