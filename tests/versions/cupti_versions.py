#!/usr/bin/env python3
"""Checks released CUPTIs against what the collector reads: how long each record is by the library's own reckoning.

usage: cupti_versions.py [--wheels FOLDER] [PACKAGE==VERSION…]

Wheels come from PyPI and are kept in FOLDER (default: ~/.cache/gradsync-doctor/wheels; some 10 MB each). Needs no GPU, but
from CUDA 13.2 on the library answers nothing without a driver. Prints a Markdown table; exits with 1 when a record is
shorter than the part of it that the collector reads, or has the layout of a version that it does not know.

environment: GSD_TEST_PROGRAMS as for tests/inject
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PROGRAMS = Path(os.environ.get("GSD_TEST_PROGRAMS", "."))
RELEASES = ["nvidia-cuda-cupti-cu11==11.7.101", "nvidia-cuda-cupti-cu11==11.8.87", "nvidia-cuda-cupti-cu12==12.1.105",
            "nvidia-cuda-cupti-cu12==12.4.127", "nvidia-cuda-cupti-cu12==12.6.80", "nvidia-cuda-cupti-cu12==12.9.79",
            "nvidia-cuda-cupti==13.0.85", "nvidia-cuda-cupti==13.1.115", "nvidia-cuda-cupti==13.2.86",
            "nvidia-cuda-cupti==13.3.75", "nvidia-cuda-cupti==13.5.25"]  # fmt: skip
# sizeof of collectors/inject/abi/cupti_abi.h: what is read of each.
READ = {"concurrent_kernel": 112, "memcpy": 48, "memcpy_peer": 64, "memset": 48, "runtime": 40, "driver": 40,
        "synchronization": 40, "overhead": 40, "graph_trace": 40}  # fmt: skip
FIRST_VERSION, LAST_VERSION = 17, 139999


def library_of(release, wheels, folder):
    name, version = release.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(wheels.glob(pattern)):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--dest", str(wheels), release], check=True)  # fmt: skip
    with zipfile.ZipFile(next(wheels.glob(pattern))) as archive:
        members = [name for name in archive.namelist() if "/lib/libcupti.so." in name]
        return Path(archive.extract(members[0], folder))


def strides_of(library):
    """Record kind → bytes; None when the library does not answer here."""
    done = subprocess.run([PROGRAMS / "record_strides", library], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return None
    return {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}


def selects_calls(library):
    """Whether single calls can be recorded, or only all of them."""
    names = subprocess.run(["nm", "-D", library], check=True, capture_output=True, text=True).stdout
    return "cuptiActivityEnableRuntimeApi" in names and "cuptiActivityEnableDriverApi" in names


def is_read(strides):
    known = FIRST_VERSION <= strides["version"] <= LAST_VERSION
    return known and all(strides.get(kind, 0) >= size for kind, size in READ.items())


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--wheels", type=Path, default=Path.home() / ".cache/gradsync-doctor/wheels")
    options.add_argument("releases", nargs="*", default=RELEASES)
    options = options.parse_args()
    options.wheels.mkdir(parents=True, exist_ok=True)
    failed = False
    print("| CUPTI | API version | " + " | ".join(READ) + " | single calls | read |")
    print("|---|---|" + "---|" * len(READ) + "---|---|")
    print("| read of each | | " + " | ".join(map(str, READ.values())) + " | | |")
    for release in options.releases:
        with tempfile.TemporaryDirectory(prefix="gsd-versions-") as folder:
            library = library_of(release, options.wheels, folder)
            strides = strides_of(library)
            calls = "yes" if selects_calls(library) else "no"
        if strides is None:
            cells, version, verdict = [" "] * len(READ), "does not answer without a driver", "could not be tried"
        else:
            cells, version = [str(strides.get(kind, "?")) for kind in READ], str(strides["version"])
            verdict = "yes" if is_read(strides) else "NO"
            failed |= verdict == "NO"
        print(f"| {release.split('==')[1]} | {version} | {' | '.join(cells)} | {calls} | {verdict} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
