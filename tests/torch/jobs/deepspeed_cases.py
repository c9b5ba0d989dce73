"""A stand-in for DeepSpeed: a module of its name whose initialize() takes a configuration. `deepspeed_cases.py CASE …`."""
import os
import sys
import tempfile

CASE = sys.argv[1]
if CASE != "arguments" and CASE != "none":
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "deepspeed.py"), "w") as file:
        file.write("import torch\ndef initialize(args=None, model=None, config=None, config_params=None):\n"
                   "    return 'engine', model\n")
    sys.path.insert(0, folder)

import torch

if CASE not in ("arguments", "none"):
    import deepspeed
    os.remove(os.path.join(folder, "deepspeed.py"))
    settings = {"zero_optimization": {"stage": 1}, "optimizer": {"type": "OneBitAdam"}}
    engine, _ = {"config": lambda: deepspeed.initialize(model=None, config=settings),
                 "broken": lambda: deepspeed.initialize(config="/nowhere.json"),
                 "odd": lambda: deepspeed.initialize(config=[1, 2])}[CASE]()
    assert engine == "engine"
parameter = torch.nn.Parameter(torch.ones(3))
optimizer = torch.optim.SGD([parameter], lr=0.1)
for _ in range(6):
    parameter.sum().backward()
    optimizer.step()
