"""What tests of NCCL share: jobs that call a stand-in for libnccl under libgradsync_inject.so.

environment: GSD_TEST_LIBRARY   the library
             GSD_TEST_PROGRAMS  folder of nvtx_client; nccl/ in it holds the rest
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from test_inject import LIBRARY, PROGRAMS, Case  # noqa: E402

NCCL = PROGRAMS / "nccl"
JOB_A, JOB_B = NCCL / "libnccl_job_a.so", NCCL / "libnccl_job_b.so"

# What the scenario "calls" does.
CALLS = [("all_reduce", 4096, "float32", None), ("all_reduce", 262144, "float32", "max"),
         ("all_gather", 66, "bfloat16", None), ("reduce_scatter", 200, "float16", None),
         ("broadcast", 40, "float32", None), ("reduce", 44, "float32", None), ("send", 48, "float32", None),
         ("recv", 52, "float32", None), ("all_reduce", 28, "float32", None)]  # fmt: skip


class NcclCase(Case):
    def run_job(self, scenario, *jobs, preload=True, plugin=0, nvtx="", events="", **more):
        """Returns what reached the stand-ins. The job is opened RTLD_LOCAL, as Python opens torch."""
        if preload:
            more["LD_PRELOAD"] = LIBRARY
        if plugin:
            more |= {"STAND_IN_PLUGIN": str(plugin), "NCCL_PROFILER_PLUGIN": LIBRARY}
        if nvtx:
            more["STAND_IN_NVTX"] = nvtx
        if events:
            more["GSD_NCCL_EVENTS"] = events
        return self.run_client("nvtx_client", scenario, *(jobs or [JOB_A]), **more)

    def collectives(self, spool=None):
        return [event for event in (spool or self.only_spool()).events if event.kind == "collective"]

    def choices(self, events):
        return [tuple(event.attributes.get(key) for key in ("algorithm", "protocol", "channels")) for event in events]
