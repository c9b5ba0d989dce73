#!/usr/bin/env python3
"""Fails when names disagree: commands and options against man pages, rules against docs and sources.

usage: check_names.py [--binary FILE] [PROJECT_ROOT]

  commands   every command of `gradsync-doctor --help` has man/gradsync-doctor-COMMAND.1, and the reverse
  options    every long option of `gradsync-doctor COMMAND --help` is an item of that page, and the reverse
  rules      every metric and fact that rules/*.toml names is listed in docs/metrics.md; a metric also occurs
             as a string literal in analyzers, collectors or src, unless its name is composed there
  man pages  `mandoc -T lint` finds no error, where mandoc is installed
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python older than 3.11
    tomllib = None

PROGRAM = "gradsync-doctor"

# Metrics whose names the code puts together, so that no literal spells them out.
COMPOSED = [
    r"attribution\.[a-z_]+_ms",  # attribution.<class>_ms
    r"phase\.[a-z_]+_ms",  # phase.<name>_ms
    r"fabric\.[a-z_]+\.(alpha_us|bandwidth_gbytes_per_s|half_size_bytes|cliff_percent)",  # fabric.<op>.…
    r"predict\.[a-z0-9_]+\.(saved_ms|most_ms|probability)",  # predict.<remedy>.…
    r"load\.[a-z0-9_]+\.((cpu|cuda)\.(ms|roofline_percent)|wire_bytes)",  # load.<algorithm>.<device>.…
]

# Options that every command has and that the main page describes.
COMMON_OPTIONS = {"--help", "--help-all", "--version"}

# A pair such as sync.exposed_ms and sync.exposed_percent may share the literal "sync.exposed".
SHARED_UNITS = ("_ms", "_percent")

# In texts of rules: filled from the finding, not from a metric.
TEXT_WORDS = {"scope"}

# What diagnosis tells the verdict about the findings; no metrics or facts of the run, so docs/metrics.md lacks them.
VERDICT_NAMES = re.compile(r"verdict\.ms|first\.[a-z_]+|worst")

SOURCE_FOLDERS = ("src", "analyzers", "collectors")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'')
LONG_OPTION = re.compile(r"--[a-z][a-z0-9-]*")


# ---- help texts -------------------------------------------------------------------------------------------------


def commands_of_help(text):
    """Names listed below the heading "Subcommands:" (or "Commands:")."""
    names, inside = [], False
    for line in text.splitlines():
        if re.fullmatch(r"(sub)?commands:", line.strip(), re.IGNORECASE):
            inside = True
        elif line and not line[0].isspace():
            inside = False
        elif inside:
            found = re.match(r" {1,4}([a-z][a-z0-9_-]*)\b", line)
            if found:
                names.append(found.group(1))
    return names


def options_of_help(text):
    """Long options that head a line of help; what descriptions mention does not count."""
    names = set()
    for line in text.splitlines():
        if re.match(r"\s{1,6}-", line):
            names.update(LONG_OPTION.findall(line.split()[0]))  # -q,--quiet Excludes: --verbose
    return names


# ---- man pages --------------------------------------------------------------------------------------------------


def options_of_man(text):
    """Long options that head an item: mdoc's .It, or the tag of man's .TP, .IP and .OP."""
    names, tag_follows = set(), False
    for line in text.splitlines():
        plain = re.sub(r"\\f(\[[^]]*\]|.)|\\&", "", line).replace("\\-", "-")
        macro = plain.split(" ", 1)[0]
        if macro == ".It":
            names.update("--" + name for name in re.findall(r"\bFl\s+(?:-|Fl\s+)([a-z][a-z0-9-]*)", plain))
        elif macro in (".TP", ".TQ"):
            tag_follows = True
        elif macro in (".IP", ".OP") or (tag_follows and plain):
            names.update(LONG_OPTION.findall(plain))
            tag_follows = False
    return names


def lint_man(path):
    if not shutil.which("mandoc"):
        return []
    # Level "error": a page that renders wrongly; style and portability remarks are not enforced.
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", str(path)], capture_output=True, text=True)
    return [line for line in (done.stdout + done.stderr).splitlines() if line]


def compare_commands(help_of, pages):
    """`help_of(arguments)` gives a help text; `pages` maps a file name to its text."""
    problems = []
    commands = commands_of_help(help_of([]))
    if not commands:
        problems.append(f"{PROGRAM} --help lists no command below a heading Subcommands:")
    if f"{PROGRAM}.1" not in pages:
        problems.append(f"man/{PROGRAM}.1 is missing")
    for command in commands:
        page = f"{PROGRAM}-{command}.1"
        if page not in pages:
            problems.append(f"man/{page} is missing: {PROGRAM} has a command {command}")
            continue
        offered = options_of_help(help_of([command])) - COMMON_OPTIONS
        described = options_of_man(pages[page]) - COMMON_OPTIONS
        problems += [f"man/{page}: {name} of {command} --help is not described" for name in sorted(offered - described)]
        problems += [f"man/{page}: {command} --help has no {name}" for name in sorted(described - offered)]
    for page in sorted(pages):
        command = page.removeprefix(PROGRAM).removeprefix("-").removesuffix(".1")
        if command and command not in commands:
            problems.append(f"man/{page}: {PROGRAM} has no command {command}")
    return problems


# ---- rules ------------------------------------------------------------------------------------------------------


def names_of_rule(rule):
    """Returns (metrics, facts) of one parsed rule file, metrics without quantiles. Texts hold {metric}, {fact:NAME}."""
    metrics, facts = set(), set()

    def visit(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                if key == "metric" or (key in ("saves", "judged_by") and isinstance(inner, str)):
                    metrics.add(inner)
                elif key == "saves" and isinstance(inner, list):
                    metrics.update(inner)
                elif key == "fact":
                    facts.add(inner)
                elif key == "metrics" and isinstance(inner, dict):
                    metrics.update(inner)
                elif key == "facts" and isinstance(inner, dict):
                    facts.update(inner)
                else:
                    visit(inner)
        elif isinstance(value, list):
            for inner in value:
                visit(inner)
        elif isinstance(value, str):
            for name in re.findall(r"\{([^{}]+)\}", value):
                if name.startswith("fact:"):
                    facts.add(name.removeprefix("fact:"))
                elif name not in TEXT_WORDS:
                    metrics.add(name)

    visit(rule)
    return {name.split("@")[0] for name in metrics}, facts


def documented(markdown, heading):
    """Names in the first column of the table with that first heading, as one pattern; <x> stands for a word."""
    names, inside = [], False
    for line in markdown.splitlines():
        first = line.strip().strip("|").split("|")[0]
        if not line.startswith("|"):
            inside = False
        elif first.strip() == heading:
            inside = True
        elif inside:
            names += re.findall(r"`([^`]+)`", first)
    patterns = [re.sub(r"<[^>]+>", "[a-z0-9_]+", re.escape(name).replace(r"\<", "<").replace(r"\>", ">")) for name in names]
    return re.compile("|".join(patterns) or r"(?!)")


def literals_of(root):
    found = set()
    for folder in SOURCE_FOLDERS:
        for file in (root / folder).rglob("*"):
            if file.suffix in (".cpp", ".h", ".py") and file.is_file():
                for double, single in LITERAL.findall(file.read_text(encoding="utf-8", errors="replace")):
                    found.add(double or single)
    return found


def is_written(metric, literals):
    stems = [metric.removesuffix(unit) for unit in SHARED_UNITS if metric.endswith(unit)]
    return any(name in literals for name in (metric, *stems))


def compare_rules(rules, metrics_page, literals):
    """`rules` maps a file name to its parsed content."""
    problems = []
    known_metric, known_fact = documented(metrics_page, "metric"), documented(metrics_page, "fact")
    composed = re.compile("|".join(COMPOSED))
    for name, rule in sorted(rules.items()):
        metrics, facts = names_of_rule(rule)
        for metric in sorted(metrics):
            if composed.fullmatch(metric):
                continue
            if not known_metric.fullmatch(metric) and not VERDICT_NAMES.fullmatch(metric):
                problems.append(f"rules/{name}: {metric} is not listed in docs/metrics.md")
            elif not is_written(metric, literals):
                problems.append(f"rules/{name}: no source in {', '.join(SOURCE_FOLDERS)} writes {metric}")
        for fact in sorted(facts):
            if not known_fact.fullmatch(fact) and not VERDICT_NAMES.fullmatch(fact):
                problems.append(f"rules/{name}: the fact {fact} is not listed in docs/metrics.md")
    return problems


def read_rules(root):
    rules, problems = {}, []
    for file in sorted((root / "rules").glob("*.toml")):
        try:
            rule = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            problems.append(f"rules/{file.name}: {error}")
            continue
        rules[file.name] = rule
    return rules, problems


# ---- main -------------------------------------------------------------------------------------------------------


def check_commands(root, binary):
    def help_of(arguments):
        done = subprocess.run([str(binary), *arguments, "--help"], capture_output=True, text=True, timeout=60)
        return done.stdout

    files = sorted((root / "man").glob("*.1"))
    problems = compare_commands(help_of, {file.name: file.read_text(encoding="utf-8") for file in files})
    for file in files:
        problems += lint_man(file)
    return problems


def check_rules(root):
    if tomllib is None:
        print("check_names: rules not checked: this Python has no tomllib (3.11 or newer has)", file=sys.stderr)
        return []
    rules, problems = read_rules(root)
    page = root / "docs" / "metrics.md"
    return problems + compare_rules(rules, page.read_text(encoding="utf-8"), literals_of(root))


def main(arguments):
    default_root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description="Compares names in help texts, man pages, rules, docs and sources.")
    parser.add_argument("root", nargs="?", type=Path, default=default_root)
    parser.add_argument("--binary", type=Path, help="the built program (default: ROOT/build/release/gradsync-doctor)")
    options = parser.parse_args(arguments)
    binary = options.binary or options.root / "build" / "release" / PROGRAM
    if not binary.exists():
        print(f"check_names: {binary} is not built: make build", file=sys.stderr)
        return 1
    problems = check_commands(options.root, binary) + check_rules(options.root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
