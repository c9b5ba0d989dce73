#!/usr/bin/env python3
"""What the hook tells of the job's setup, without torch: files are made, the facts are what it must say."""
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

from support import observed

sys.path.insert(0, observed.SHIM)
from gradsync_hook import activation, settings  # noqa: E402


class Settings(unittest.TestCase):
    def setUp(self):
        self.facts = {}
        told = mock.patch.object(activation, "tell", lambda key, value: self.facts.__setitem__(key, str(value)))
        told.start()
        self.addCleanup(told.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_variables_that_are_set(self):
        environment = {"NCCL_IB_DISABLE": "1", "NCCL_ALGO": "Ring" * 100, "NCCL_CONF_FILE": "/x/none"}
        with mock.patch.dict(os.environ, environment, clear=True), mock.patch.object(settings, "SYSTEM_FILE", "/x/none"):
            settings.tell_environment()
        self.assertEqual({"env.nccl_ib_disable": "1", "env.nccl_algo": ("Ring" * 100)[:200], "env.seen": "yes"}, self.facts)

    def test_files_of_nccl(self):
        user = self.write("user.conf", "# NCCL_ALGO=Tree\nNCCL_IB_DISABLE=1\nNCCL_PROTO = LL\nnonsense\n")
        system = self.write("nccl.conf", "NCCL_IB_DISABLE=0\nNCCL_IB_HCA=mlx5_1\nNCCL_P2P_DISABLE=1\nPATH=/x")
        environment = {"NCCL_CONF_FILE": user, "NCCL_IB_HCA": "mlx5_0"}
        with mock.patch.dict(os.environ, environment, clear=True), mock.patch.object(settings, "SYSTEM_FILE", system):
            settings.tell_environment()
        # The environment before the user's file, that before the system's; a name with a blank is another name.
        self.assertEqual({"env.nccl_ib_disable": "1", "env.nccl_ib_hca": "mlx5_0", "env.nccl_p2p_disable": "1",
                          "env.files": "NCCL_IB_DISABLE of %s, NCCL_P2P_DISABLE of %s" % (user, system),
                          "env.seen": "yes"}, self.facts)

    def test_files_that_are_missing_or_enormous(self):
        with open(os.path.join(self.folder, "large"), "wb") as file:
            file.write(b"NCCL_ALGO=Ring\n" + b"\xff" * (settings.LARGEST_FILE + 5) + b"\nNCCL_PROTO=LL\n")
        with mock.patch.dict(os.environ, {"NCCL_CONF_FILE": os.path.join(self.folder, "large")}, clear=True), \
                mock.patch.object(settings, "SYSTEM_FILE", os.path.join(self.folder, "none")):
            settings.tell_environment()
        self.assertEqual("Ring", self.facts["env.nccl_algo"])
        self.assertNotIn("env.nccl_proto", self.facts)

    def test_the_device_behind_the_list_of_visible_ones(self):
        cases = [(None, 1, "1"), ("2,3", 1, "3"), ("GPU-a, GPU-b", 0, "GPU-a"), ("2", 1, None)]
        for visible, index, expected in cases:
            with self.subTest(visible=visible):
                self.facts.clear()
                with mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": visible} if visible else {}, clear=True):
                    settings.tell_device(types.SimpleNamespace(type="cuda", index=index))
                self.assertEqual(expected, self.facts.get("device.visible"))
        self.facts.clear()
        settings.tell_device(types.SimpleNamespace(type="cpu", index=None))
        self.assertEqual({}, self.facts)

    def test_an_extension_older_than_its_source(self):
        source, library = self.write("a.cu", ""), self.write("a.so", "")
        self.write("build.ninja", "rule x\nbuild a.o: compile %s\n" % source)
        module = types.ModuleType("made_extension")
        module.__file__ = library
        with mock.patch.dict(sys.modules, made_extension=module), \
                mock.patch.dict(os.environ, TORCH_EXTENSIONS_DIR=self.folder):
            os.utime(source, (1000, 1000))
            settings.tell_extensions()
            self.assertEqual({"extensions.stale": "no"}, self.facts)
            os.utime(library, (500, 500))
            settings.tell_extensions()
        self.assertEqual({"extensions.stale": "yes", "extensions.stale.names": "made_extension"}, self.facts)

    def test_no_extension_no_fact(self):
        with mock.patch.dict(os.environ, TORCH_EXTENSIONS_DIR=self.folder):
            settings.tell_extensions()
        self.assertEqual({}, self.facts)


if __name__ == "__main__":
    unittest.main()
