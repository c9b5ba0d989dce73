#!/usr/bin/env python3
"""Fails on a project include that goes up or sideways in the layer table of CONTRIBUTING.md.

usage: check_layers.py [PROJECT_ROOT]

The table is the Markdown table whose first heading is "layer"; its rows run from the lowest layer to the
highest. A cell of "may include" holds layer names (`src/base` may be called `base`), "nothing of ours" or
"all of the above". A file belongs to the longest layer path that contains it; tests, benchmarks and samples
may include everything, and nothing may include them.
"""

import re
import sys
from pathlib import Path, PurePosixPath
from typing import NamedTuple

CHECKED = ("src", "collectors", "analyzers", "loads")
FREE = ("tests", "benchmarks", "samples")
SUFFIXES = {".h", ".hpp", ".inc", ".c", ".cc", ".cpp", ".cu", ".cuh"}

# Order matters: numbers come before characters because of digit separators (1'000).
TOKEN = re.compile(
    r"""
      (?P<comment> //(?:[^\n\\]|\\.|\\\n)* | /\*.*?(?:\*/|\Z) )
    | (?P<raw>     R"(?P<mark>[^()\\\s]*)\(.*?(?:\)(?P=mark)"|\Z) )
    | (?P<keep>    \b[0-9](?:[0-9a-zA-Z_.]|'[0-9a-zA-Z])* | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
    """,
    re.VERBOSE | re.DOTALL,
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|import)[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


class Layer(NamedTuple):
    path: str
    allowed: frozenset  # of layer paths; a layer may always include itself
    line: int  # in CONTRIBUTING.md


class Violation(NamedTuple):
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


def without_comments(source):
    """Blanks comments and raw strings, so that lines keep their numbers."""

    def blank(match):
        return match.group() if match.group("keep") is not None else re.sub(r"[^\n]", " ", match.group())

    return TOKEN.sub(blank, source)


def includes(source):
    """Yields (line, name, quoted) for every include directive that the compiler would see."""
    text = without_comments(source)
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield line, match.group(1) or match.group(2), match.group(1) is not None


def cells(row):
    return [cell.strip().replace("`", "") for cell in row.strip().strip("|").split("|")]


def read_table(text, name="CONTRIBUTING.md"):
    """Returns the layers, lowest first, and what is wrong with the table itself."""
    lines = text.splitlines()
    start = next((i for i, row in enumerate(lines) if row.startswith("|") and cells(row)[0].lower() == "layer"), None)
    if start is None:
        return [], [Violation(name, 1, 'no table whose first heading is "layer"')]
    layers, problems = [], []
    for number, row in enumerate(lines[start + 2 :], start + 3):
        if not row.startswith("|"):
            break
        path, allowed_cell = cells(row)[:2]
        allowed = set()
        for word in filter(None, (word.strip() for word in allowed_cell.split(","))):
            if word == "nothing of ours":
                continue
            if word == "all of the above":
                allowed.update(layer.path for layer in layers)
                continue
            found = [layer.path for layer in layers if word in (layer.path, layer.path.split("/")[-1])]
            if len(found) == 1:
                allowed.add(found[0])
            else:
                why = "stands for several rows" if found else "is no row above this one"
                problems.append(Violation(name, number, f'layer {path} may include "{word}", which {why}'))
        layers.append(Layer(path, frozenset(allowed), number))
    return layers, problems


def layer_of(path, layers):
    owners = [layer for layer in layers if path == layer.path or path.startswith(layer.path + "/")]
    return max(owners, key=lambda layer: len(layer.path), default=None)


def target_of(root, includer, name, quoted):
    """Returns (path from the root, what is wrong with the spelling or None); (None, None): not ours."""
    top = PurePosixPath(name).parts[0]
    if top in CHECKED + FREE:
        spelling = None if quoted and ".." not in name else f'include it as "{name}" from the project\'s root'
        return name, spelling
    # Not from the root: ours only when the file is really there, seen from the includer or from a source folder.
    folders = [(root / includer).parent] if quoted else []
    for folder in folders + [root / "src", root / "collectors"]:
        file = (folder / name).resolve()
        if file.is_file() and file.is_relative_to(root.resolve()):
            path = file.relative_to(root.resolve()).as_posix()
            return path, f'include it from the project\'s root: "{path}"'
    return None, None


def check_file(root, path, layers):
    layer = layer_of(path, layers)
    if layer is None:
        yield Violation(path, 1, "belongs to no layer: add a row to the table in CONTRIBUTING.md")
        return
    for line, name, quoted in includes((root / path).read_text(encoding="utf-8", errors="replace")):
        target, spelling = target_of(root, path, name, quoted)
        if target is None:
            continue
        if spelling:
            yield Violation(path, line, f"{name}: {spelling}")
        if target.split("/")[0] in FREE:
            yield Violation(path, line, f"{layer.path} may not include {target}")
            continue
        owner = layer_of(target, layers)
        if owner is None:
            yield Violation(path, line, f"{target} belongs to no layer of CONTRIBUTING.md")
        elif owner.path != layer.path and owner.path not in layer.allowed:
            allowed = ", ".join(sorted(layer.allowed)) or "nothing of ours"
            yield Violation(path, line, f"{layer.path} may not include {target} (it may include: {allowed})")


def check(root):
    """Returns every violation below `root`, in order of file and line."""
    layers, problems = read_table((root / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    if not layers:
        return problems
    for top in CHECKED:
        for file in sorted((root / top).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                problems.extend(check_file(root, file.relative_to(root).as_posix(), layers))
    return problems


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2]
    problems = check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
