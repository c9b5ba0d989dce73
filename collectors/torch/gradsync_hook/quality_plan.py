"""When run --quality looks: fixed before the first pass, the same on every rank.

    passes   0 … first │ layout is told │ and read by all │ sums of 16 passes │ sums of 16 passes │ …
    block              1                2                 3                   4

In the first pass of a block more is looked at (the probe pass); behind its last one the sums of the block are compared.
"""
from .schedule import Blocks

ENDLESS = 1 << 60
EARLY = 4   # passes at the start that are probed as well, for what goes wrong at once


class Plan(Blocks):
    def __init__(self, first=4, block=16, budget_percent=1.0):
        super().__init__(first, block)
        self.blocks = ENDLESS
        self.budget_percent = budget_percent
        self.digest = str(self)

    def __str__(self):
        return "first=%d block=%d budget=%g" % (self.first, self.block, self.budget_percent)

    def is_probe(self, number):
        return number < EARLY or self.is_boundary(number)


def from_text(text):
    """`first=4,block=16,budget=1`; what is missing has these values. ValueError for what makes no plan."""
    values = {"first": 4, "block": 16, "budget": 1.0}
    for entry in filter(None, text.split(",")):
        name, _, value = entry.partition("=")
        if name not in values:
            raise ValueError("no plan has %r" % name)
        values[name] = float(value) if name == "budget" else int(value)
    if values["first"] < 3 or values["block"] < 1 or not values["budget"] > 0:
        raise ValueError("no plan: %s" % text)   # DDP settles its buckets in the first two passes
    return Plan(values["first"], values["block"], values["budget"])
