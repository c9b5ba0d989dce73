#!/usr/bin/env python3
"""Tests of check_article.py: tables as text, and the complaints they must give."""

import unittest

import check_article

HEAD = "| item | point | home | test |\n|---|---|---|---|\n"
NAMES = "\n| name | rule or alias |\n|---|---|\n| `SHORT` | `rule a` |\n"


class Made:
    """A project that has one of each."""

    def has(self, kind, name):
        return (kind, name) in {("rule", "a"), ("metric", "b.c_ms"), ("lint", "d")}

    def exists(self, path):
        return path in ("tests/unit/a_test.cpp", "samples/a.py")


def rows(first="`rule a`", test="`tests/unit/a_test.cpp`"):
    lines = [f"| 1 | x | {first} | {test} |"]
    lines += [f"| {item} | x | `metric b.c_ms` | `tests/unit/a_test.cpp` |" for item in range(2, 111)]
    return HEAD + "\n".join(lines) + "\n"


class StandIns(unittest.TestCase):
    def check(self, recording, job):
        return check_article.check_stand_ins(
            f"| problem | recorded configuration | stand-in |\n|---|---|---|\n| 5.5 x | {recording} | {job} |\n", Made())

    def test_a_recording_and_a_job(self):
        self.assertEqual(self.check("`tests/unit/a_test.cpp`", "`samples/a.py`, as `problem.a`"), [])

    def test_one_of_them_is_missing(self):
        self.assertEqual(self.check("by hand", "`samples/a.py`"), ["5.5 x: a stand-in needs a recording and a job"])
        self.assertEqual(self.check("`tests/unit/a_test.cpp`", "`samples/b.py`"), ["5.5 x: there is no samples/b.py"])


class Items(unittest.TestCase):
    def check(self, text):
        return check_article.check_items(text, Made())

    def test_a_complete_table_passes(self):
        self.assertEqual(self.check(rows()), [])

    def test_an_item_that_is_missing_or_stands_twice(self):
        self.assertEqual(self.check(rows().replace("| 7 | x |", "| 8 | x |")),
                         ["item 7 is missing", "item 8 stands there 2 times"])

    def test_several_items_in_one_row(self):
        text = rows().replace("| 7 | x |", "| 7, 8 to 9 | x |")
        text = "\n".join(line for line in text.splitlines() if not line.startswith(("| 8 |", "| 9 |")))
        self.assertEqual(self.check(text), [])

    def test_a_number_that_is_no_item(self):
        self.assertEqual(self.check(rows() + "| 111 | x | `rule a` | `tests/unit/a_test.cpp` |\n"), ["there is no item 111"])

    def test_names_that_do_not_exist(self):
        self.assertEqual(self.check(rows("`rule a`, `rule z`, `lint d`")), ["item 1: there is no rule z"])
        self.assertEqual(self.check(rows(test="`tests/none.cpp`")), ["item 1: there is no tests/none.cpp"])

    def test_a_row_without_home_or_test(self):
        self.assertEqual(self.check(rows(first="later")), ["item 1: neither a home nor 'not done, because …'"])
        self.assertEqual(self.check(rows(test="")), ["item 1: no test is named"])

    def test_not_done_needs_no_test_and_has_a_limit(self):
        self.assertEqual(self.check(rows("not done, because it is a remark", "")), [])
        many = rows()
        for item in range(1, 27):
            many = many.replace(f"| {item} | x | `rule a`", f"| {item} | x | not done, because y")
            many = many.replace(f"| {item} | x | `metric b.c_ms`", f"| {item} | x | not done, because y")
        self.assertEqual(self.check(many), ["26 items are not done; at most 25 may be"])


class ShortNames(unittest.TestCase):
    def check(self, text):
        return check_article.check_short_names(text, Made())

    def test_each_is_a_rule_or_an_alias_that_exists(self):
        self.assertEqual(self.check(NAMES), [])
        self.assertEqual(self.check(NAMES + "| `OTHER` | `rule z` |\n"), ["`OTHER`: there is no rule z"])
        self.assertEqual(self.check(NAMES + "| `OTHER` | later |\n"), ["`OTHER`: neither a rule nor an alias"])

    def test_each_stands_there_once(self):
        self.assertEqual(self.check(NAMES + "| `SHORT` | `rule a` |\n"), ["SHORT stands there twice"])

    def test_the_table_is_there(self):
        self.assertEqual(self.check("nothing"), ["the table of short names is missing"])


if __name__ == "__main__":
    unittest.main()
