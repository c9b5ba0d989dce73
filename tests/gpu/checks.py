"""What must be true of a recording that a real GPU left: pure functions over what spool.py reads and job.py prints.

Each gives (passed, text): the text holds the numbers that a person wants to see, also when it passed.
"""
KERNEL_KINDS = ("kernel", "copy", "memset")


def events(spools, *kinds):
    return [event for spool in spools for event in spool.events if event.kind in kinds]


def of_cupti(spools):
    return [spool for spool in spools if "cupti" in spool.facts]


def collected(spools):
    """CUPTI brought kernels, and each belongs to the call that launched it."""
    ours = of_cupti(spools)
    if len(ours) != 1:
        return False, f"{len(ours)} processes tell about CUPTI, not 1"
    facts, kernels = ours[0].facts, events(ours, "kernel")
    if facts["cupti"] != "collected" or not kernels:
        return False, f"{len(kernels)} kernels; cupti: {facts['cupti']}"
    launches = {call.correlation for call in events(ours, "host_call")}
    linked = sum(kernel.correlation in launches for kernel in kernels)
    lost = sum(event.bytes for event in events(ours, "loss"))
    text = (f"{len(kernels)} kernels, {linked} with their launch, {lost} lost; CUPTI {facts.get('cupti.version')}, "
            f"clock {facts.get('cupti.clock')}")  # fmt: skip
    return linked >= 0.99 * len(kernels) and lost == 0, text


def counters(spools):
    """Shares between 0 and 100 %, times above 0, of kernels in each of the three steps; None: the driver refused."""
    ours = of_cupti(spools)
    state = ours[0].facts.get("counters", "nothing told") if len(ours) == 1 else f"{len(ours)} processes"
    if state != "collected":
        # Whether counters may be read is the machine's: a container, MIG, a driver for administrators only.
        refused = any(word in state for word in ("reserved to", "not on", "another profiler", "does not allow", "CUDA 12.6"))
        return (None, f"could not be measured: {state}") if refused else (False, f"counters: {state}")
    facts, found = ours[0].facts, [event for event in ours[0].events if event.name == "gpu_counters"]
    names = facts["counters.metrics"].split(",")
    values = {name: [event.attributes[name] / 1000 for event in found if name in event.attributes] for name in names}
    steps = sorted({event.step for event in found})
    wrong = [name for name in names if not values[name] or not all(in_range(name, value) for value in values[name])]
    means = ", ".join(f"{name} {sum(values[name]) / len(values[name]):.1f}" for name in names if values[name])
    text = f"{len(found)} kernels in steps {steps} on {facts.get('counters.chip')}: {means}"
    if "counters.refused" in facts:
        text += f"; left out: {facts['counters.refused']}"
    return not wrong and steps == [25, 26, 27], text + (f"; wrong: {', '.join(wrong)}" if wrong else "")


def in_range(name, value):
    # Rates of peak may pass it a little where clocks change while a kernel runs.
    return 0 < value if name.startswith("gpu__time") else 0 <= value <= 105 if "pct" in name else 0 <= value


def clock(spools, saw):
    """launch <= kernel <= now, also for what ran after the pause; nothing ran inside it."""
    ours = of_cupti(spools)
    calls = {call.correlation: call for call in events(ours, "host_call")}
    kernels = [kernel for kernel in events(ours, "kernel") if kernel.correlation in calls]
    early = sum(kernel.start < calls[kernel.correlation].start for kernel in kernels)
    late = sum(kernel.end > saw["ended_ns"] for kernel in kernels)
    begin, end = saw["idle_ns"]
    inside = sum(begin < kernel.start < end for kernel in kernels)
    after = [kernel for kernel in kernels if kernel.start >= end]
    text = (f"{len(kernels)} kernels, {len(after)} after {(end - begin) / 1e9:.0f} s of nothing: {early} before their "
            f"launch, {inside} in the pause, {late} in the future")  # fmt: skip
    return bool(after) and early + inside + late == 0, text


def shares_with_profiler(spools, saw):
    """The job's own torch.profiler saw its kernels, whatever became of our collector."""
    states = "; ".join(sorted({spool.facts["cupti"] for spool in of_cupti(spools)})) or "nothing told"
    kernels = saw.get("profiled_kernels", 0)
    honest = states == "collected" or states.startswith("yielded")
    return kernels > 0 and honest, f"torch.profiler: {kernels} kernels; ours: {states}"


def graph_kernels(spools, whole_run):
    """For a whole run a replayed graph is one record; in a window its kernels are single ones."""
    graphs = sum(event.name.startswith("CUDA graph ") for event in events(of_cupti(spools), "kernel"))
    kernels = len(events(of_cupti(spools), "kernel")) - graphs
    replays = sum(event.name in ("cudaGraphLaunch", "cuGraphLaunch") for event in events(of_cupti(spools), "host_call"))
    text = f"{replays} replays: {graphs} graphs, {kernels} kernels"
    return replays > 0 and (graphs >= replays if whole_run else kernels > replays and graphs == 0), text


def survives_kill(spools, status):
    """What was written until a second before SIGKILL can be read, and the status is the job's."""
    kernels = len(events(of_cupti(spools), "kernel"))
    return kernels > 0 and status == 128 + 9, f"{kernels} kernels in the recording, exit status {status}"


def leaves_workers_alone(spools, saw):
    """Forked workers of the DataLoader record nothing of the device, and the job ends."""
    parent = max(spools, key=lambda spool: len(events([spool], "kernel")), default=None)
    if parent is None:
        return False, "nothing was recorded"
    workers = [spool for spool in spools if spool is not parent]
    theirs = len(events(workers, *KERNEL_KINDS))
    text = f"{len(events([parent], 'kernel'))} kernels of the job, {theirs} of {len(workers)} other recorded processes"
    return theirs == 0 and "ended_ns" in saw, text
