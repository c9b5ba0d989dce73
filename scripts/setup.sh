#!/usr/bin/env bash
# Installs what is missing from lists of scripts/packages.txt, with apt. Says first what that will be.
# usage: scripts/setup.sh LIST...      (build, demo, torch, test)
# The list `torch` is skipped when some Python already has PyTorch. Nothing missing: no apt call, no word.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'setup: %s\n' "$*" >&2; }

packages_of() { # LIST → its package names
  awk -v list="$1" '$1 == list { print $2 }' scripts/packages.txt
}

missing_of() { # PACKAGE... → those that dpkg does not know as installed
  local installed
  installed="$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | awk '$2 == "installed" { print $1 }' || true)"
  printf '%s\n' "$@" | grep -vxF -e "$installed" || true
}

as_root() {
  if [[ "$(id -u)" -eq 0 ]]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

apt() { as_root apt-get -o DPkg::Lock::Timeout=300 "$@" </dev/null >&2; }

if [[ "$#" -eq 0 ]]; then
  say "usage: scripts/setup.sh LIST...  (build, demo, torch, test)"
  exit 2
fi

names=()
torch=()
for list in "$@"; do
  mapfile -t of_list < <(packages_of "$list")
  if [[ "${#of_list[@]}" -eq 0 ]]; then
    say "scripts/packages.txt has no list \"$list\""
    exit 2
  fi
  if [[ "$list" == torch ]]; then
    found=0
    reason="$(scripts/find_torch_python.sh 2>&1 >/dev/null)" || found=$?
    case "$found" in
      0) continue ;;
      2) say "$reason"; exit 2 ;;
    esac
    torch=("${of_list[@]}")
  fi
  names+=("${of_list[@]}")
done
[[ "${#names[@]}" -gt 0 ]] || exit 0

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  say "this system has no apt; these packages of Debian 12 are needed, under the names they have here:"
  say "  ${names[*]}"
  say "going on with what is installed"
  exit 0
fi

mapfile -t missing < <(missing_of "${names[@]}")
[[ "${#missing[@]}" -gt 0 ]] || exit 0

say "will install with apt: ${missing[*]}"
[[ "${#torch[@]}" -eq 0 ]] || say "no Python here has PyTorch yet: Debian's and what it needs are 230 MB of that, 1 GB on disk"
if [[ "$(id -u)" -ne 0 ]] && ! command -v sudo >/dev/null; then
  say "neither root nor sudo; as root, run:"
  say "  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  exit 1
fi
apt update -qq || say "apt-get update failed; trying the package lists that are there"

# Without PyTorch the program still builds; find_torch_python.sh says what to do then.
for package in "${torch[@]}"; do
  if ! apt-cache show --no-all-versions "$package" >/dev/null 2>&1; then
    say "this system's archive has no $package; going on without: ${torch[*]}"
    mapfile -t missing < <(printf '%s\n' "${missing[@]}" | grep -vxF -e "$(printf '%s\n' "${torch[@]}")")
    break
  fi
done
[[ "${#missing[@]}" -eq 0 ]] || apt install -y -qq --no-install-recommends "${missing[@]}"
