#!/usr/bin/env python3
"""What the GPUs did while a job ran: through a library with NVML's interface, without one, and with a broken driver.

environment: GSD_FAKE_NVML_FOLDER  folder with that library, by its own name
"""
import os
import pathlib
import unittest

import doctor

FOLDER = pathlib.Path(os.environ.get("GSD_FAKE_NVML_FOLDER", doctor.ROOT / "build/release/tests/unit/host/nvml"))


class GpuState(doctor.TestCase):
    def watch(self, script=None, **more):
        if script is not None:
            path = self.folder / "script"
            path.write_text(script)
            more["GSD_FAKE_NVML_SCRIPT"] = str(path)
        report, done = self.run_job("sleep", "0.6", LD_LIBRARY_PATH=str(FOLDER), **more)
        self.assertEqual(0, done.returncode, done.stderr)
        return report

    def row(self, report, device):
        series, = (series for series in report["series"] if series["name"] == "gpu")
        row, = (dict(zip(series["columns"], row)) for row in series["rows"] if row[1] == device)
        return row

    def test_throttled_shared_and_faulty(self):
        report = self.watch("1500 24 98 700000 0 79 job,1\n1500 24 98 700000 1 0 job,1\n")
        row = self.row(report, "gpu0")
        self.assertEqual((1, 3, 3, 1, 79), (row["of_job"], row["power_capped"], row["thermal"], row["ecc_new"],
                                            int(row["xid_numbers"])))
        self.assertEqual((1, "1"), (row["other_processes"], row["other_pids"]))
        fired = set(doctor.fired(report))
        self.assertLessEqual({"gpu-ecc-errors", "gpu-xid", "gpu-shared"}, fired)
        self.assertEqual("gpu0: Xid 79 (the GPU has fallen off the bus)", report["facts"]["gpu.xids"])
        # Three looks are no sample.
        self.assertEqual([], [m for m in report["metrics"] if m["name"] == "gpu.power_capped_percent"])
        self.assertIsNone(self.row(report, "gpu1")["of_job"])

    def test_no_driver_and_a_broken_one_are_one_line(self):
        for environment, why in (({"LD_LIBRARY_PATH": str(self.folder)}, "no NVIDIA driver"),
                                 ({"LD_LIBRARY_PATH": str(FOLDER), "GSD_FAKE_NVML": "broken"}, "Driver Not Loaded")):
            if "broken" not in environment.values() and os.path.exists("/dev/nvidiactl"):
                continue  # this machine has one
            report, done = self.run_job("true", **environment)
            self.assertEqual(0, done.returncode, done.stderr)
            entry, = self.coverage(report, "GPU state")
            self.assertEqual("unavailable", entry["state"])
            self.assertIn(why, entry["reason"])
            self.assertIn("driver", entry["hint"])


if __name__ == "__main__":
    unittest.main()
