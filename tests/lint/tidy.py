#!/usr/bin/env python3
"""Runs clang-tidy over the sources of the compile database, in parallel, and remembers which files were clean.

usage: tidy.py [--build DIR] [--cache DIR] [--jobs N] [PROJECT_ROOT]

A clean file leaves an empty stamp in the cache, named by the hash of everything that decides the outcome: clang-tidy's
version, .clang-tidy, the file's compile command, its text and the text of every project header it reaches. A file
with findings leaves none, so it is looked at again. Only clang-tidy 14 fails the run: other versions know other
checks, and then findings are advice.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDERS = ("src", "collectors", "analyzers", "loads")
DECISIVE_VERSION = 14
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)

# The database speaks GCC: flags that only GCC knows are no finding.
EXTRA_ARGUMENTS = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-ignored-optimization-argument"]


def find_clang_tidy():
    """Returns (program, version text, major version) or None."""
    for name in (f"clang-tidy-{DECISIVE_VERSION}", "clang-tidy"):
        program = shutil.which(name)
        if program:
            text = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
            found = re.search(r"version (\d+)", text)
            return program, text, int(found.group(1)) if found else 0
    return None


class Headers:
    """Project headers that a file reaches, each read once."""

    def __init__(self, root, build):
        self.folders = (root, build)
        self.texts = {}

    def text(self, file):
        if file not in self.texts:
            self.texts[file] = file.read_bytes()
        return self.texts[file]

    def reached_from(self, file):
        """`file` itself and everything it includes, in a fixed order."""
        seen, waiting = {file}, [file]
        while waiting:
            current = waiting.pop()
            for name in INCLUDE.findall(self.text(current).decode("utf-8", errors="replace")):
                for folder in (*self.folders, current.parent):
                    header = (folder / name).resolve()
                    if header.is_file():
                        if header not in seen:
                            seen.add(header)
                            waiting.append(header)
                        break
        return sorted(seen)


def entries_to_check(root, build):
    """One entry a file: a source that two targets compile is looked at once."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = (Path(entry["directory"]) / entry["file"]).resolve()
        if file.is_file() and file.is_relative_to(root) and file.relative_to(root).parts[0] in FOLDERS:
            found.setdefault(file, entry)
    return sorted(found.items())


def key_of(file, entry, headers, common):
    digest = hashlib.sha256(common)
    digest.update(entry.get("command", " ".join(entry.get("arguments", []))).encode())
    for reached in headers.reached_from(file):
        digest.update(str(reached).encode() + b"\0" + headers.text(reached) + b"\0")
    return digest.hexdigest()


def examine(program, build, file):
    command = [program, "--quiet", "-p", str(build), *EXTRA_ARGUMENTS, str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout.strip() or (done.stderr.strip() if done.returncode else "")


def main(arguments):
    default_root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description="Runs clang-tidy over the compile database, with a cache.")
    parser.add_argument("root", nargs="?", type=Path, default=default_root)
    parser.add_argument("--build", type=Path, help="folder of compile_commands.json (default: ROOT/build/release)")
    parser.add_argument("--cache", type=Path, help="folder of the stamps (default: ROOT/build/lint/tidy)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    build = (options.build or root / "build" / "release").resolve()
    cache = options.cache or root / "build" / "lint" / "tidy"

    tidy = find_clang_tidy()
    if tidy is None:
        print("tidy: clang-tidy is not installed: scripts/setup.sh test", file=sys.stderr)
        return 1
    program, version_text, version = tidy
    if not (build / "compile_commands.json").is_file():
        print(f"tidy: {build} has no compile_commands.json: make build", file=sys.stderr)
        return 1

    cache.mkdir(parents=True, exist_ok=True)
    common = version_text.encode() + (root / ".clang-tidy").read_bytes()
    headers = Headers(root, build)
    stamps = {file: cache / key_of(file, entry, headers, common) for file, entry in entries_to_check(root, build)}
    pending = [file for file, stamp in stamps.items() if not stamp.exists()]

    failed = 0
    with ThreadPoolExecutor(max_workers=max(1, options.jobs)) as pool:
        results = pool.map(lambda file: examine(program, build, file), pending)
        for number, (file, (status, output)) in enumerate(zip(pending, results), 1):
            if sys.stderr.isatty():
                print(f"\rtidy: {number}/{len(pending)} {file.relative_to(root)}\033[K", end="", file=sys.stderr)
            if status == 0:
                stamps[file].touch()
            else:
                failed += 1
                print(output, flush=True)
    if sys.stderr.isatty() and pending:
        print("\r\033[K", end="", file=sys.stderr)

    wanted = {stamp.name for stamp in stamps.values()}
    for stamp in cache.iterdir():
        if stamp.name not in wanted:
            stamp.unlink()
    print(f"{len(stamps)} files, {len(stamps) - len(pending)} known to be clean, {failed} with findings")
    if failed and version != DECISIVE_VERSION:
        print(f"clang-tidy {version} is not the version that decides ({DECISIVE_VERSION}): the findings are advice")
        return 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
