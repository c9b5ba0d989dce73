#!/usr/bin/env python3
"""Fails when a rule fires in no golden case.

usage: check_goldens.py [PROJECT_ROOT]

  rules       each of rules/step*.toml and rules/known_issues.toml is a finding of some tests/golden/*/report.json
  verdicts    each case of rules/verdict.toml heads one of them: the first whose conditions hold as far as a report tells,
              and whose text the verdict fits
  exceptions  EXCEPTIONS names what is still without a case, and why. One that has a case by now, or that is no rule, fails
"""

import json
import re
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:
    tomllib = None

# id → why no golden case shows it.
EXCEPTIONS = {}

SEVERITIES = ["none", "info", "warning", "error"]


def rule_ids(rules):
    """Findings that may fire: of a rule's file its id, of each known issue its own."""
    ids = [tomllib.loads(file.read_text(encoding="utf-8"))["id"] for file in sorted(rules.glob("step*.toml"))]
    issues = tomllib.loads((rules / "known_issues.toml").read_text(encoding="utf-8"))
    return ids + [issue["id"] for issue in issues.get("issue", [])]


def pattern(text):
    """What a verdict's text may read like: placeholders stand for anything, [[ parts ]] may be missing."""
    parts = re.split(r"(\[\[|\]\]|\{[^}]*\})", text)
    words = {"[[": "(?:", "]]": ")?"}
    return re.compile("".join(words.get(part, ".+" if part.startswith("{") else re.escape(part)) for part in parts))


class Told:
    """What a report says to the conditions of a verdict. `None`: it does not tell."""

    def __init__(self, report):
        findings = report["findings"]
        self.fired = {finding["rule"] for finding in findings}
        self.facts = dict(report["facts"], worst=max((f["severity"] for f in findings), key=SEVERITIES.index, default="none"))
        self.metrics = {metric["name"]: metric["value"] for metric in report["metrics"] if metric["scope"] == "all"}
        if findings:
            self.facts["first.rule"] = findings[0]["rule"]
            saves = findings[0].get("saves")
            self.facts["first.saving"] = saves["kind"] if saves else "none"
            if saves:
                self.metrics["first.saved_ms"] = saves["p50"]

    def holds(self, condition):
        if "finding" in condition:
            state = condition.get("is", "fired")
            return condition["finding"] in self.fired if state == "fired" else None
        if "fact" in condition:
            value = self.facts.get(condition["fact"])
            if "present" in condition:
                return (value is not None) == condition["present"]
            return value in condition.get("one_of", [condition.get("is")])
        value = self.metrics.get(condition["metric"])
        if value is None:
            return False
        for word, compare in {"above": float.__gt__, "below": float.__lt__, "at_least": float.__ge__, "at_most": float.__le__}.items():
            if word in condition:
                return compare(float(value), float(str(condition[word]).split()[0]))
        return None


def verdict_of(report, cases):
    """The id of the case that the report is headed by; None where none fits, as for a command with words of its own."""
    told = Told(report)
    for case in cases:
        conditions = case.get("all", [])
        if pattern(case["text"]).fullmatch(report["verdict"]["text"]) and False not in map(told.holds, conditions):
            return case["id"]
    return None


def compare(wanted, shown, exceptions):
    problems = [f"{one} fires in no golden case" for one in wanted if one not in shown and one not in exceptions]
    problems += [f"{one} is excepted and fires in a golden case" for one in exceptions if one in shown]
    problems += [f"{one} is excepted and is neither a rule nor a verdict" for one in exceptions if one not in wanted]
    return problems


def check(root):
    cases = tomllib.loads((root / "rules/verdict.toml").read_text(encoding="utf-8"))["case"]
    reports = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(root.glob("tests/golden/*/report.json"))]
    shown = {finding["rule"] for report in reports for finding in report["findings"] if finding["state"] == "fired"}
    shown |= {f"verdict {verdict_of(report, cases)}" for report in reports}
    wanted = rule_ids(root / "rules") + [f"verdict {case['id']}" for case in cases]
    return compare(wanted, shown, EXCEPTIONS)


def main():
    if tomllib is None:
        print("check_goldens: not checked: this Python has no tomllib (3.11 or newer has)", file=sys.stderr)
        return 0
    problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]))
    for problem in problems:
        print("tests/golden:", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
