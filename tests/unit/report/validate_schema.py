#!/usr/bin/env python3
"""Validates report files against the schema, and checks that the schema refuses what breaks the contract.

usage: validate_schema.py SCHEMA REPORT...

Every report must be valid. Then each change listed below is made to the first report, which must have at least one
entry in each list, and each changed report must be refused: a schema that accepts everything proves nothing.
Ends with 77 (skipped) where python3 has no module jsonschema.
"""

import copy
import json
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3 has no module jsonschema (Debian: python3-jsonschema)")
    sys.exit(77)

DELETE = object()

# Where, and what is put there instead.
BREAKS = [
    (["schema_version"], 2),
    (["schema_version"], DELETE),
    (["verdict"], DELETE),
    (["surprise"], 1),
    (["tool", "name"], DELETE),
    (["run", "ranks"], "two"),
    (["run", "command_line"], "python3 train.py"),
    (["facts", "world_size"], 2),
    (["coverage", 0, "state"], "lost"),
    (["coverage", 0, "tier"], "D"),
    (["metrics", 0, "name"], "Step Time"),
    (["metrics", 0, "scope"], "everywhere"),
    (["metrics", 0, "unit"], DELETE),
    (["metrics", 0, "p10"], None),
    (["series", 0, "rows", 0, 0], True),
    (["attribution", 0, "unit"], "us"),
    (["attribution", 0, "parts", "comms"], 1.0),
    (["findings", 0, "state"], "ok"),
    (["findings", 0, "severity"], "fatal"),
    (["findings", 0, "step"], 5),
    (["findings", 0, "try"], DELETE),
    (["findings", 0, "advice"], []),
    (["findings", 0, "evidence"], ["comm.total_ms@p99"]),
    (["findings", 0, "saves", "kind"], "guessed"),
    (["findings", 0, "saves", "probability"], 97),
    (["verdict", "sign"], "+"),
    (["verdict", "measured"], "yes"),
]


def changed(report, path, value):
    report = copy.deepcopy(report)
    place = report
    for key in path[:-1]:
        place = place[key]
    if value is DELETE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return report


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    schema = load(sys.argv[1])
    reports = {path: load(path) for path in sys.argv[2:]}
    validator_class = jsonschema.validators.validator_for(schema)
    validator_class.check_schema(schema)
    validator = validator_class(schema)
    problems = []
    for path, report in reports.items():
        for error in validator.iter_errors(report):
            problems.append(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
    first = next(iter(reports.values()))
    for path, value in BREAKS:
        if validator.is_valid(changed(first, path, value)):
            problems.append(f"accepted: {'/'.join(map(str, path))} = {'nothing' if value is DELETE else value!r}")
    print("\n".join(problems) or f"{len(reports)} valid, {len(BREAKS)} broken ones refused")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
