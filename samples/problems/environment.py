"""A stand-in for a job's environment that went wrong, as far as a machine without GPUs can have it: one rank loses what the
doctor set for it, and what both load as a compiled extension is older than its source.

The rank is real, and so is the folder of the extension; a Python file stands for the library in it, so that no compiler is
needed. Two ranks on one GPU, and Gloo on GPUs, are the recording tests/golden/cluster_environment.
"""
import argparse
import importlib
import os
import pathlib
import sys
import tempfile

import two_ranks

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--steps", type=int, default=60)
options = parser.parse_args()
two_ranks.start(cleaned=(1,))

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def load_old_extension(cache: str) -> None:
    """What torch.utils.cpp_extension leaves: a folder with the build file and the library. Its source changed a day later."""
    folder = pathlib.Path(cache, "fused_topk")
    folder.mkdir()
    source, library = folder / "fused_topk.cpp", folder / "fused_topk.py"
    source.write_text("// changed since\n")
    library.write_text("def select(gradient, count):\n    return gradient.abs().topk(count).indices\n")
    (folder / "build.ninja").write_text(f"build fused_topk.o: compile {source}\n")
    os.utime(library, (source.stat().st_mtime - 86400,) * 2)
    os.environ["TORCH_EXTENSIONS_DIR"] = cache
    sys.path.insert(0, str(folder))
    importlib.import_module("fused_topk")


with tempfile.TemporaryDirectory(prefix="extensions-") as cache:
    load_old_extension(cache)
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.ReLU(), torch.nn.Linear(300, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if dist.get_rank() == 0:
        print("planted: rank 1 is started without the doctor's variables, and an extension is older than its source", flush=True)
    for _ in range(options.steps):
        optimizer.zero_grad()
        model(torch.randn(256, 300)).pow(2).mean().backward()
        optimizer.step()
two_ranks.finish()
