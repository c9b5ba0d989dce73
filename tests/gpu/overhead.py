"""What watching the device costs a training step: whole processes in turn, in random order within each round."""
import random
import statistics

WARM_UP, STEPS = 30, 230
# Steps whose device is watched; "off": no injection of CUPTI at all. The job's own profiler is the peer.
INSIDE, OUTSIDE = f"{WARM_UP}:{STEPS}", "1000000:1000001"


class Arm:
    def __init__(self, name, doctor=(), calls="", job=()):
        self.name, self.doctor, self.calls, self.job = name, list(doctor), calls, list(job)


ARMS = [
    Arm("nothing"),
    Arm("the doctor without CUPTI", ["--deep", "off"]),
    Arm("CUPTI, outside its window", ["--deep", "cupti", "--steps", OUTSIDE]),
    Arm("kernels", ["--deep", "cupti", "--steps", INSIDE], "none"),
    Arm("+ launches and waits (what run does)", ["--deep", "cupti", "--steps", INSIDE]),
    Arm("+ every call of runtime and driver", ["--deep", "cupti", "--steps", INSIDE], "all"),
    Arm("torch.profiler", job=["--profile", INSIDE]),
]
NCCL_ARMS = [
    Arm("nothing"),
    Arm("the doctor without NCCL's plug-in", ["--deep", "off", "--nccl", "off"]),
    Arm("NCCL's plug-in: collectives", ["--deep", "off", "--nccl", "calls"]),
    Arm("NCCL's plug-in: + kernels, proxy", ["--deep", "off", "--nccl", "calls,kernels,proxy"]),
]


def measure(run, arms, rounds, seed=1):
    """{arm: [median step in ms, one for each round]}. `run(arm)` gives the job's step times, or None."""
    order, medians = random.Random(seed), {arm.name: [] for arm in arms}
    for _ in range(rounds):
        for arm in order.sample(arms, len(arms)):
            steps = run(arm)
            medians[arm.name].append(statistics.median(steps[WARM_UP:]) if steps else None)
    return medians


def ratios(medians, base):
    """{arm: (median, least, most, rounds)} of its step over `base`'s in the same round, in percent above it."""
    found = {}
    for name, values in medians.items():
        pairs = [100 * (ours / theirs - 1) for ours, theirs in zip(values, medians[base]) if ours and theirs]
        if pairs:
            found[name] = (statistics.median(pairs), min(pairs), max(pairs), len(pairs))
    return found


def rows(medians, base="nothing"):
    """(name, text) lines of the table; the base shows how far its own rounds lie apart."""
    found = ratios(medians, base)
    for name, values in medians.items():
        known = [value for value in values if value]
        if not known:
            yield name, "could not be measured"
        elif name == base:
            yield name, f"{statistics.median(known):.2f} ms per step [{min(known):.2f}, {max(known):.2f}], n={len(known)}"
        elif name in found:
            yield name, "{:+.2f} % [{:+.2f}, {:+.2f}], n={}".format(*found[name])
