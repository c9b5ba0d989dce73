#!/usr/bin/env bash
# Prints the absolute path of a Python that has PyTorch: $TORCH_PYTHON, else python3 on PATH, else /usr/bin/python3.
# Exit status: 0 found; 1 none has it; 2 $TORCH_PYTHON is set and has not. Looks for the module without importing it
# (an import takes a second).
set -euo pipefail

probe() { # PYTHON → its real path, when it has torch
  # A folder called torch in the working directory is no PyTorch: hence the clean sys.path, and the test for origin.
  "$1" -c '
import sys
sys.path = [entry for entry in sys.path if entry]
from importlib.util import find_spec
spec = find_spec("torch")
if spec is None or spec.origin is None:
    sys.exit(1)
print(sys.executable)' 2>/dev/null
}

if [[ -n "${TORCH_PYTHON:-}" ]]; then
  if probe "$TORCH_PYTHON"; then
    exit 0
  fi
  printf 'TORCH_PYTHON=%s: not a Python that has the module torch\n' "$TORCH_PYTHON" >&2
  exit 2
fi

for python in python3 /usr/bin/python3; do
  if command -v "$python" >/dev/null && probe "$python"; then
    exit 0
  fi
done

cat >&2 <<'TEXT'
No Python here has PyTorch. Either
  - Debian 12:     apt-get install python3-torch libopenblas0
  - anywhere else: make a virtual environment, install PyTorch's CPU build into it as its documentation says
                   (some hundred megabytes; Ubuntu 24.04 may have no package python3-torch), and add
                   TORCH_PYTHON=/path/to/venv/bin/python to the make command
TEXT
exit 1
