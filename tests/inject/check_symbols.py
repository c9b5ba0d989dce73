#!/usr/bin/env python3
"""Fails when libgradsync_inject.so could stop a job from starting: a symbol too new for glibc 2.17, libstdc++, or an
export that could replace something of the job's.

usage: check_symbols.py LIBRARY HEADER...   (those that declare what it exports)
"""

import re
import subprocess
import sys

# NCCL's names: with LD_PRELOAD they come before its own, which is what they are for.
EXPORTS = re.compile(r"gsd_\w+|InitializeInjection(Nvtx2|NvtxExtension)?|nccl[A-Z]\w+|ncclProfiler_v[1-6]")
NEEDED = {"libc.so.6", "libdl.so.2", "libpthread.so.0"}
NEWEST_GLIBC = (2, 17)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def problems_of(library, declarations):
    exported = set()
    for line in output_of("nm", "-D", library).splitlines():
        name, _, version = line.split()[-1].partition("@")
        kind = line.split()[-2]
        if kind in "Uw":
            if "GLIBCXX" in version or "CXXABI" in version:
                yield f"needs libstdc++: {name}@{version}"
            number = re.fullmatch(r"GLIBC_([0-9.]+)", version.lstrip("@"))
            if number and tuple(map(int, number[1].split("."))) > NEWEST_GLIBC:
                yield f"needs a newer glibc than {'.'.join(map(str, NEWEST_GLIBC))}: {name}@{version}"
            elif version and not number:
                yield f"unknown symbol version: {name}@{version}"
        else:
            exported.add(name)
            if not EXPORTS.fullmatch(name):
                yield f"exports {name}"
    declared = set(re.findall(r"GSD_EXPORT [\w ]+[ *]+(gsd_\w+)\(", declarations))
    declared |= set(re.findall(r"GSD_EXPORT (?:int|extern const [\w:]+) (nccl\w+)[(;]", declarations))
    for name in sorted(declared - exported):
        yield f"{name} is declared, the library does not export it"
    for name in sorted(name for name in exported - declared if not name.startswith("InitializeInjection")):
        yield f"exports {name}, which no header declares"
    dynamic = output_of("readelf", "-d", "-W", library)
    needed = set(re.findall(r"NEEDED.*\[(.+?)\]", dynamic))
    for name in sorted(needed - NEEDED):
        if not name.startswith("ld-linux"):  # __tls_get_addr
            yield f"is linked to {name}"
    if "NODELETE" not in dynamic:
        yield "can be unloaded while its code still runs (no -z nodelete)"
    if "TEXTREL" in dynamic:
        yield "needs text relocations"
    if re.search(r"GNU_STACK.*RWE", output_of("readelf", "-l", "-W", library)):
        yield "needs an executable stack"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    found = list(problems_of(sys.argv[1], "".join(open(header).read() for header in sys.argv[2:])))
    for problem in found:
        print(f"{sys.argv[1]}: {problem}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
