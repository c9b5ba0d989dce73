#!/usr/bin/env python3
"""What the hook reads of a DeepSpeed configuration. DeepSpeed itself is not needed: a module of its name stands in."""
import os
import sys
import unittest

from support import observed


@observed.needs_library()
@observed.needs_torch()
class DeepSpeed(observed.TestCase):
    def facts(self, *arguments):
        command = [observed.PYTHON, os.path.join(observed.TESTS, "jobs", "deepspeed_cases.py")] + list(arguments)
        outcome = observed.run(command, self.recording)
        self.assertFinished(outcome)
        self.assertEqual(("", ""), (outcome.outputs[0], outcome.errors[0]))
        facts = self.recording.spools()[0].facts
        self.assertNotIn("hook.fault", facts)
        return {key[10:]: value for key, value in facts.items() if key.startswith("deepspeed.")}

    def config(self, text):
        path = os.path.join(self.recording.folder, "ds_config.json")
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_named_on_the_command_line(self):
        path = self.config('{"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}}')
        for arguments in (("--deepspeed_config", path), ("--deepspeed=" + path,), ("--deepspeed", "--deepspeed_config=" + path)):
            with self.subTest(arguments):
                self.recording.remove()
                self.setUp()
                self.config('{"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}}')
                moved = [argument.replace(path, os.path.join(self.recording.folder, "ds_config.json"))
                         for argument in arguments]
                self.assertEqual({"zero_stage": "2", "optimizer": "AdamW", "config": "ds_config.json"},
                                 self.facts("arguments", *moved))

    def test_given_to_initialize(self):
        self.assertEqual({"zero_stage": "1", "optimizer": "OneBitAdam", "config": "given in the program"},
                         self.facts("config"))

    def test_what_cannot_be_read_is_not_known(self):
        self.assertEqual({"config": "nowhere.json"}, self.facts("broken"))
        self.recording.remove()
        self.setUp()
        self.assertEqual({"config": "given in the program"}, self.facts("odd"))

    def test_without_it(self):
        self.assertEqual({"zero_stage": "none"}, self.facts("none"))

    def test_files_that_are_no_configuration(self):
        for text in ("", "[1]", "{", '{"zero_optimization": 3}'):
            with self.subTest(text):
                self.recording.remove()
                self.setUp()
                found = self.facts("arguments", "--deepspeed_config", self.config(text))
                self.assertEqual("0" if text.startswith('{"') else None, found.get("zero_stage"))


if __name__ == "__main__":
    unittest.main()
