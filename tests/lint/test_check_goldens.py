#!/usr/bin/env python3
"""Tests of check_goldens.py: which verdict a report shows, and the complaints about rules without a case."""

import unittest

import check_goldens

CASES = [{"id": "sweep", "text": "Nothing in {fact:where}.[[ {n} left.]]", "all": [{"fact": "asked", "is": "fabric"}]},
         {"id": "wrong", "text": "{fact:first.title}: {fact:first.says}", "all": [{"fact": "worst", "is": "error"}]},
         {"id": "late", "text": "{fact:first.title}: {fact:first.says}",
          "all": [{"fact": "worst", "is": "warning"}, {"metric": "first.saved_ms", "above": "0 ms"}]},
         {"id": "healthy", "text": "Nothing in {x}.", "all": [{"finding": "late", "is": "clean"}]},
         {"id": "unknown", "text": "Could not judge."}]


def report(text, findings=(), facts=None, metrics=()):
    return {"verdict": {"text": text}, "findings": list(findings), "facts": facts or {}, "metrics": list(metrics)}


def finding(severity, saves=None):
    return {"rule": "a", "severity": severity, "state": "fired"} | ({"saves": {"kind": "bound", "p50": saves}} if saves else {})


class Verdicts(unittest.TestCase):
    def shown(self, *given, **more):
        return check_goldens.verdict_of(report(*given, **more), CASES)

    def test_texts_that_fit_are_told_apart_by_their_conditions(self):
        self.assertEqual(self.shown("A: b", [finding("error")]), "wrong")
        self.assertEqual(self.shown("A: b", [finding("warning", 3.0)]), "late")
        self.assertIsNone(self.shown("A: b", [finding("warning")]))

    def test_a_part_in_double_brackets_may_be_missing(self):
        for text in ("Nothing in eth0.", "Nothing in eth0. 3 left."):
            self.assertEqual(self.shown(text, facts={"asked": "fabric"}), "sweep")

    def test_what_a_report_does_not_tell_rules_no_case_out(self):
        self.assertEqual(self.shown("Nothing in eth0."), "healthy")

    def test_a_command_with_words_of_its_own_shows_none(self):
        self.assertIsNone(self.shown("Nothing could be predicted."))


class Complaints(unittest.TestCase):
    def test_rules_without_a_case_and_exceptions_that_are_none(self):
        self.assertEqual(check_goldens.compare(["a", "b", "c"], {"a", "b"}, {"b": "", "d": ""}),
                         ["c fires in no golden case", "b is excepted and fires in a golden case",
                          "d is excepted and is neither a rule nor a verdict"])
        self.assertEqual(check_goldens.compare(["a", "b"], {"a"}, {"b": "its host is missing"}), [])


if __name__ == "__main__":
    unittest.main()
