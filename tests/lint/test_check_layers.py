#!/usr/bin/env python3
"""Tests of check_layers.py on small trees: each case shows the files and the complaints they must give."""

import tempfile
import textwrap
import unittest
from pathlib import Path

import check_layers

TABLE = """\
# Layers

| layer | may include | why |
|---|---|---|
| `src/base` | nothing of ours | words |
| `src/model` | base | vocabulary |
| `src/spool_writer` | nothing of ours | runs in the target |
| `collectors/inject` | spool_writer | in the target |
| `collectors/host` | base, model | live |
| `collectors/import` | base, model | files |
| `src/commands` | all of the above | the stages meet |
| `src/main.cpp` | commands | dispatch |
"""


class CheckLayers(unittest.TestCase):
    def complaints(self, files, table=TABLE):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "CONTRIBUTING.md").write_text(table, encoding="utf-8")
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(textwrap.dedent(text), encoding="utf-8")
            return [str(problem) for problem in check_layers.check(root)]

    def test_clean_tree(self):
        files = {
            "src/base/units.h": "#pragma once\n#include <vector>\n",
            "src/model/event.h": '#pragma once\n#include "src/base/units.h"\n',
            "src/model/event.cpp": '#include "src/model/event.h"\n#include "gtest/odd.h"\n',
            "collectors/host/proc.cpp": '#include "src/model/event.h"\n',
            "collectors/inject/nvtx.cpp": '#include "collectors/inject/abi/nvtx.h"\n#include "src/spool_writer/gsd.h"\n',
            "src/commands/run.cpp": '#include "collectors/host/proc.h"\n#include "src/base/units.h"\n',
            "src/main.cpp": '#include "src/commands/run.h"\n',
            "tests/unit/any.cpp": '#include "src/commands/run.h"\n#include "tests/unit/case.h"\n',
        }
        self.assertEqual(self.complaints(files), [])

    def test_upward_include(self):
        files = {"src/base/units.h": '#pragma once\n\n#include "src/model/event.h"\n'}
        self.assertEqual(
            self.complaints(files),
            ["src/base/units.h:3: src/base may not include src/model/event.h (it may include: nothing of ours)"],
        )

    def test_sideways_include(self):
        files = {"collectors/host/proc.cpp": '#include "collectors/import/perf_text.h"\n'}
        self.assertEqual(
            self.complaints(files),
            [
                "collectors/host/proc.cpp:1: collectors/host may not include collectors/import/perf_text.h "
                "(it may include: src/base, src/model)"
            ],
        )

    def test_inject_may_include_the_writer_only(self):
        files = {"collectors/inject/nvtx.cpp": '#include "src/spool_writer/gsd.h"\n#include "src/base/result.h"\n'}
        self.assertEqual(
            self.complaints(files),
            [
                "collectors/inject/nvtx.cpp:2: collectors/inject may not include src/base/result.h "
                "(it may include: src/spool_writer)"
            ],
        )

    def test_comments_and_strings_are_ignored(self):
        files = {
            "src/base/units.cpp": """\
                // #include "src/model/a.h"
                /* as in
                #include "src/model/b.h"
                */
                const char* text = R"(
                #include "src/model/c.h"
                )";
                const char* quote = "/*";  // a string that only looks like a comment
                const int million = 1'000'000; const char mark = '"';
                #  include "src/model/seen.h"  // */
                """
        }
        self.assertEqual(
            self.complaints(files),
            ["src/base/units.cpp:10: src/base may not include src/model/seen.h (it may include: nothing of ours)"],
        )

    def test_spelling_not_from_the_root(self):
        files = {
            "src/base/units.h": "",
            "src/model/event.h": "",
            "src/model/event.cpp": '#include "event.h"\n#include "../base/units.h"\n#include <src/base/units.h>\n'
            '#include "base/units.h"\n',
        }
        self.assertEqual(
            self.complaints(files),
            [
                'src/model/event.cpp:1: event.h: include it from the project\'s root: "src/model/event.h"',
                'src/model/event.cpp:2: ../base/units.h: include it from the project\'s root: "src/base/units.h"',
                "src/model/event.cpp:3: src/base/units.h: include it as \"src/base/units.h\" from the project's root",
                'src/model/event.cpp:4: base/units.h: include it from the project\'s root: "src/base/units.h"',
            ],
        )

    def test_a_relative_include_is_also_judged_by_its_layer(self):
        files = {"src/base/units.h": '#include "../model/event.h"\n', "src/model/event.h": ""}
        self.assertEqual(len(self.complaints(files)), 2)

    def test_code_may_not_include_tests(self):
        files = {"src/base/units.cpp": '#include "tests/unit/case.h"\n'}
        self.assertEqual(self.complaints(files), ["src/base/units.cpp:1: src/base may not include tests/unit/case.h"])

    def test_a_folder_without_a_row(self):
        files = {"src/extra/thing.h": "", "src/base/units.h": '#include "src/extra/thing.h"\n'}
        self.assertEqual(
            self.complaints(files),
            [
                "src/base/units.h:1: src/extra/thing.h belongs to no layer of CONTRIBUTING.md",
                "src/extra/thing.h:1: belongs to no layer: add a row to the table in CONTRIBUTING.md",
            ],
        )

    def test_a_row_may_only_name_rows_above_it(self):
        table = "| layer | may include | why |\n|---|---|---|\n| `src/base` | model | ? |\n| `src/model` | base | ? |\n"
        self.assertEqual(
            self.complaints({}, table),
            ['CONTRIBUTING.md:3: layer src/base may include "model", which is no row above this one'],
        )

    def test_a_missing_table(self):
        self.assertEqual(
            self.complaints({}, "no table here\n"), ['CONTRIBUTING.md:1: no table whose first heading is "layer"']
        )


if __name__ == "__main__":
    unittest.main()
