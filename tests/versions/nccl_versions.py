#!/usr/bin/env python3
"""Checks released NCCLs against the injected library: NVTX payloads decoded, plug-in versions looked for.

usage: nccl_versions.py [--wheels FOLDER] [PACKAGE==VERSION…]

Wheels come from PyPI and are kept in FOLDER (default: ~/.cache/gradsync-doctor/wheels; some 200 MB each). Each library's
collectives are called without a communicator, which needs no GPU. Prints a Markdown table; exits with 1 when a release
from 2.16 on is not decoded, or asks for no version of the plug-in interface that we export.

environment: GSD_TEST_LIBRARY, GSD_TEST_PROGRAMS as for tests/inject
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "inject"))
from spool import spools_of  # noqa: E402
from test_inject import LIBRARY, PROGRAMS, Nccl  # noqa: E402

RELEASES = ["nvidia-nccl-cu11==2.14.3", "nvidia-nccl-cu12==2.16.5", "nvidia-nccl-cu12==2.18.3",
            "nvidia-nccl-cu12==2.20.5", "nvidia-nccl-cu12==2.22.3", "nvidia-nccl-cu12==2.23.4",
            "nvidia-nccl-cu12==2.25.1", "nvidia-nccl-cu12==2.26.2", "nvidia-nccl-cu12==2.27.5",
            "nvidia-nccl-cu13==2.28.9", "nvidia-nccl-cu12==2.29.3"]  # fmt: skip


def wheel_of(release, folder):
    name, version = release.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--dest", str(folder), release], check=True)  # fmt: skip
    return next(folder.glob(pattern))


def library_of(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract("nvidia/nccl/lib/libnccl.so.2", folder))


def record(library, folder, preload):
    """Returns the events of tests/inject's client of a real NCCL, or of a job linked with it under the wrappers."""
    (folder / "events").mkdir(parents=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("GSD_", "NVTX_", "NCCL_"))}
    environment |= {"NVTX_INJECTION64_PATH": LIBRARY, "GSD_RECORDING": str(folder)}
    command = [PROGRAMS / "nccl_client", library]
    if preload:
        environment |= {"LD_PRELOAD": LIBRARY, "LD_LIBRARY_PATH": str(library.parent)}
        command = [PROGRAMS / "nvtx_client", "without communicator", PROGRAMS / "nccl/libnccl_job_a.so"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    number = re.search(r"version (\d+)", done.stdout)
    spools = spools_of(folder)
    events = [event for event in spools[0].events if event.kind == "collective"] if spools else []
    return int(number[1]) if number else 0, events


def yes(condition):
    return "yes" if condition else "no"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--wheels", type=Path, default=Path.home() / ".cache/gradsync-doctor/wheels")
    parser.add_argument("releases", nargs="*", default=RELEASES)
    arguments = parser.parse_args()
    arguments.wheels.mkdir(parents=True, exist_ok=True)
    failed = False
    print("| wheel | ncclGetVersion | NVTX sizes | communicator in the payload | sizes by the wrappers |"
          " plug-in versions asked for | ours |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for release in arguments.releases:
        with tempfile.TemporaryDirectory(prefix="gsd-nccl-") as temporary:
            folder = Path(temporary)
            library = library_of(wheel_of(release, arguments.wheels), folder)
            version, events = record(library, folder / "ranges", preload=False)
            _, wrapped = record(library, folder / "wrapped", preload=True)
            content = library.read_bytes()
        decoded = [(event.name, event.bytes) for event in events] == Nccl.EXPECTED * 2
        by_wrapper = [(event.name, event.bytes) for event in wrapped] == [
            ("all_reduce", 4096), ("all_gather", 132), ("broadcast", 40)]  # fmt: skip
        asked_for = [v for v in range(1, 10) if f"ncclProfiler_v{v}\0".encode() in content]
        chosen = max((v for v in asked_for if v <= 5), default=None)
        with_communicator = b"NCCL communicator ID\0" in content
        failed |= not by_wrapper or (version >= 21600 and not decoded) or (version >= 22300 and chosen is None)
        print(f"| {release} | {version} | {yes(decoded)} | {yes(with_communicator)} | {yes(by_wrapper)} |"
              f" {', '.join(f'v{v}' for v in asked_for) or 'none'} | {f'v{chosen}' if chosen else 'none'} |",
              flush=True)  # fmt: skip
    sys.exit(failed)


if __name__ == "__main__":
    main()
