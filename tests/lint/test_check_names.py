#!/usr/bin/env python3
"""Tests of check_names.py: help texts, man pages and rules as text, and the complaints they must give."""

import tomllib
import unittest

import check_names

MAIN_HELP = """\
Finds out why gradients synchronise slowly
Usage: gradsync-doctor [OPTIONS] SUBCOMMAND

Options:
  -h,--help                   Print this help message and exit
  --version                   Print the version

Subcommands:
  run                         Run a command and say what slows it down
                              (see also --not-an-option)
  show                        Draw a report again
"""

RUN_HELP = """\
Usage: gradsync-doctor run [OPTIONS] [command...]

Options:
  -h,--help                   Print this help message and exit
  -o,--output DIR             Keep the recording; unlike --nothing
  --json FILE Excludes: --nor-this
                              Report as JSON
  --color,--no-color{false}   Colour
"""

SHOW_HELP = "Usage: gradsync-doctor show REPORT\n\nOptions:\n  -h,--help  Print this help message and exit\n"

RUN_PAGE = """\
.Sh OPTIONS
.Bl -tag -width Ds
.It Fl o Ar DIR , Fl -output Ar DIR
Keep the recording, as
.Fl -elsewhere
does.
.It Fl -json Ar FILE
JSON.
.It Fl -color , Fl -no-color
Colour.
.El
"""

HELPS = {(): MAIN_HELP, ("run",): RUN_HELP, ("show",): SHOW_HELP}
PAGES = {"gradsync-doctor.1": "", "gradsync-doctor-run.1": RUN_PAGE, "gradsync-doctor-show.1": ""}

RULE = """\
id = "late-start"
says = "{sync.exposed_ms@p50} of {step.time_ms} in {scope}, at {fact:where.sync}; {first.saved_ms}"
saves = "predict.bucket_size.saved_ms"
judged_by = "sync.exposed_ms"
all = [ { metric = "attribution.idle_ms@p90", above = "1 ms" }, { any = [ { fact = "backend", is = "gloo" } ] } ]

[[example]]
expect = "fires"
metrics = { "sync.exposed_ms" = 3 }
facts = { backend = "gloo" }
"""

METRICS_PAGE = """\
| metric | scopes | meaning |
|---|---|---|
| `step.time_ms`, `step.count` | all | time |
| `sync.exposed_ms` | all | not `comm.total_ms` |

| fact | values |
|---|---|
| `backend` | nccl |
| `where.sync` | a line |
"""


def commands(helps=None, pages=None):
    helps, pages = helps or HELPS, pages or PAGES
    return check_names.compare_commands(lambda arguments: helps[tuple(arguments)], pages)


def rules(text=RULE, page=METRICS_PAGE, literals=("step.time_ms", "sync.exposed", "first.saved_ms")):
    return check_names.compare_rules({"late.toml": tomllib.loads(text)}, page, set(literals))


class Commands(unittest.TestCase):
    def test_names_agree(self):
        self.assertEqual(commands(), [])

    def test_a_command_without_a_page(self):
        pages = {name: text for name, text in PAGES.items() if "show" not in name}
        self.assertEqual(
            commands(pages=pages), ["man/gradsync-doctor-show.1 is missing: gradsync-doctor has a command show"]
        )

    def test_a_page_without_a_command(self):
        self.assertEqual(
            commands(pages={**PAGES, "gradsync-doctor-irq.1": ""}),
            ["man/gradsync-doctor-irq.1: gradsync-doctor has no command irq"],
        )

    def test_a_missing_main_page(self):
        pages = {name: text for name, text in PAGES.items() if name != "gradsync-doctor.1"}
        self.assertEqual(commands(pages=pages), ["man/gradsync-doctor.1 is missing"])

    def test_an_option_that_the_page_omits(self):
        helps = {**HELPS, ("show",): SHOW_HELP + "  --html FILE                 HTML\n"}
        self.assertEqual(
            commands(helps=helps), ["man/gradsync-doctor-show.1: --html of show --help is not described"]
        )

    def test_an_option_that_only_the_page_has(self):
        pages = {**PAGES, "gradsync-doctor-show.1": ".It Fl -html Ar FILE\n"}
        self.assertEqual(commands(pages=pages), ["man/gradsync-doctor-show.1: show --help has no --html"])

    def test_help_without_commands(self):
        helps = {**HELPS, (): "Usage: gradsync-doctor\n"}
        self.assertEqual(
            commands(helps=helps, pages={"gradsync-doctor.1": ""}),
            ["gradsync-doctor --help lists no command below a heading Subcommands:"],
        )

    def test_options_in_man_macros(self):
        page = ".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR=\\fIDIR\\fR\nnot \\-\\-this\n.IP \\-\\-json\nnor \\-\\-that\n"
        self.assertEqual(check_names.options_of_man(page), {"--output", "--json"})


class Rules(unittest.TestCase):
    def test_names_agree(self):
        self.assertEqual(rules(), [])

    def test_a_metric_that_no_source_writes(self):
        self.assertEqual(
            rules(literals=["step.time_ms", "sync", "first.saved_ms"]),
            ["rules/late.toml: no source in src, analyzers, collectors writes sync.exposed_ms"],
        )

    def test_an_unlisted_metric(self):
        self.assertEqual(
            rules(RULE.replace('"sync.exposed_ms"', '"comm.total_ms"')),
            ["rules/late.toml: comm.total_ms is not listed in docs/metrics.md"],
        )

    def test_a_misspelt_name_in_a_text(self):
        self.assertEqual(
            rules(RULE.replace("{step.time_ms}", "{step.tme_ms}")),
            ["rules/late.toml: step.tme_ms is not listed in docs/metrics.md"],
        )

    def test_a_misspelt_fact_in_a_text(self):
        self.assertEqual(
            rules(RULE.replace("{fact:where.sync}", "{fact:where.synk}")),
            ["rules/late.toml: the fact where.synk is not listed in docs/metrics.md"],
        )

    def test_an_unlisted_fact(self):
        self.assertEqual(
            rules(RULE.replace("backend", "backends")),
            ["rules/late.toml: the fact backends is not listed in docs/metrics.md"],
        )


if __name__ == "__main__":
    unittest.main()
