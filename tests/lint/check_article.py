#!/usr/bin/env python3
"""Fails when rules/ARTICLE.md and the project disagree.

usage: check_article.py [PROJECT_ROOT]

  items   each of 1 … 110 stands in the first table exactly as often as it should: once; it has a home and a test, or it
          is "not done, because …", of which there are at most 25
  homes   `rule x` is in rules/, `metric x`, `fact x` and `series x` are in docs/metrics.md, `command x` has a man page,
          `whatif x` is a remedy of analyzers/predict, `lint x` a table of rules/commands, `page x` one of rules/remedies
  tests   every path below tests/ exists
  stand-ins  each row of their table names a recording below tests/ and a job below samples/, and both exist
  names   the last table lists each short name once, and each is a rule, or an alias of something that exists
"""

import re
import sys
from pathlib import Path

from check_names import documented

ITEMS = range(1, 111)
MOST_NOT_DONE = 25
NOT_DONE = "not done, because "
HOME = re.compile(r"`(rule|metric|fact|series|command|whatif|lint|page) ([^`]+)`")
TEST = re.compile(r"`(tests/[^`]+)`")
SAMPLE = re.compile(r"`(samples/[^`]+)`")


def table(markdown, heading):
    """Rows of the table whose first column is called `heading`, as lists of cells."""
    rows, inside = [], False
    for line in markdown.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[0] == heading:
            inside = True
        elif inside and set(cells[0]) - set("-: "):
            rows.append(cells)
    return rows


def items_of(cell):
    """"4, 16" and "82 to 84" as numbers."""
    numbers = []
    for part in cell.split(","):
        first, _, last = part.strip().partition(" to ")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


class Project:
    """What exists, each kind of home by its names."""

    def __init__(self, root):
        metrics = (root / "docs/metrics.md").read_text(encoding="utf-8")
        rules = root / "rules"
        ids = set(re.findall(r'^id\s*=\s*"([^"]+)"', "\n".join(f.read_text() for f in rules.glob("*.toml")), re.M))
        self.root = root
        self.known = {
            "rule": ids.__contains__,
            "metric": documented(metrics, "metric").fullmatch,
            "fact": documented(metrics, "fact").fullmatch,
            "series": lambda name: documented(metrics, "series").fullmatch(name) or f"`{name}`" in metrics,
            "command": lambda name: (root / f"man/gradsync-doctor-{name}.1").is_file(),
            "whatif": lambda name: f'"{name}"' in "".join(f.read_text() for f in (root / "analyzers/predict").iterdir()),
        }
        self.known["lint"] = lambda name: (rules / f"commands/{name.replace('-', '_')}.toml").is_file()
        self.known["page"] = lambda name: (rules / f"remedies/{name}.toml").is_file()

    def has(self, kind, name):
        return bool(self.known[kind](re.sub(r"<[^>]+>", "x", name)))  # `fabric.<op>.alpha_us`: of any operation

    def exists(self, path):
        return (self.root / path).exists()


def check_homes(where, homes, project):
    return [f"{where}: there is no {kind} {name}" for kind, name in HOME.findall(homes) if not project.has(kind, name)]


def check_items(markdown, project):
    problems, seen, not_done = [], [], 0
    for cells in table(markdown, "item"):
        if len(cells) != 4:
            problems.append(f"item {cells[0]}: {len(cells)} columns, expected item, point, home, test")
            continue
        numbers, homes, tests = items_of(cells[0]), cells[2], TEST.findall(cells[3])
        where = f"item {cells[0]}"
        seen += numbers
        if homes.startswith(NOT_DONE):
            not_done += len(numbers)
            continue
        if not HOME.search(homes):
            problems.append(f"{where}: neither a home nor '{NOT_DONE}…'")
        problems += check_homes(where, homes, project)
        if not tests:
            problems.append(f"{where}: no test is named")
        problems += [f"{where}: there is no {path}" for path in tests if not project.exists(path)]
    problems += [f"item {item} is missing" for item in ITEMS if item not in seen]
    problems += [f"item {item} stands there {seen.count(item)} times" for item in sorted(set(seen)) if seen.count(item) > 1]
    problems += [f"there is no item {item}" for item in sorted(set(seen)) if item not in ITEMS]
    if not_done > MOST_NOT_DONE:
        problems.append(f"{not_done} items are not done; at most {MOST_NOT_DONE} may be")
    return problems


def check_stand_ins(markdown, project):
    problems = []
    for cells in table(markdown, "problem"):
        recordings, jobs = TEST.findall(cells[1]), SAMPLE.findall(cells[2])
        if not recordings or not jobs:
            problems.append(f"{cells[0]}: a stand-in needs a recording and a job")
        problems += [f"{cells[0]}: there is no {path}" for path in recordings + jobs if not project.exists(path)]
    return problems


def check_short_names(markdown, project):
    problems, seen = [], []
    for cells in table(markdown, "name"):
        seen.append(cells[0].strip("`"))
        if not HOME.search(cells[1]):
            problems.append(f"{cells[0]}: neither a rule nor an alias")
        problems += check_homes(cells[0], cells[1], project)
    problems += [f"{name} stands there twice" for name in sorted(set(seen)) if seen.count(name) > 1]
    return problems or ([] if seen else ["the table of short names is missing"])


def check(root):
    markdown = (root / "rules/ARTICLE.md").read_text(encoding="utf-8")
    project = Project(root)
    return check_items(markdown, project) + check_stand_ins(markdown, project) + check_short_names(markdown, project)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    problems = check(root)
    for problem in problems:
        print("rules/ARTICLE.md:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
