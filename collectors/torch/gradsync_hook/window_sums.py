"""Sums over ever longer windows: of the true averaged gradient, and of what the optimiser received.

    blocks     1   2   3   4   5   6   7   8
    windows   ─┴───┘   └───┤  ─┴───┘   └───┤      each is made of the two before it of half its length
              ─────────────┴───────────────┘

With error feedback the two sums differ by what is still kept back at both ends, so that they agree the better the
longer the window is; without it, what is left out is left out for good.
"""
ROWS = ("true", "received", "product", "implied", "implied_product", "sent", "bad_true", "bad_received", "moved")
LEVELS = 14


class Sums:
    """Of one window. Vectors over the samples; `kept`: what the memory held at its start less at its end, or None."""

    __slots__ = ("level", "passes", "true", "received", "kept", "sent")

    def __init__(self, level, passes, true, received, kept, sent):
        self.level, self.passes = level, passes
        self.true, self.received, self.kept, self.sent = true, received, kept, sent

    def joined(self, later):
        kept = None if self.kept is None or later.kept is None else self.kept + later.kept
        return Sums(self.level + 1, self.passes + later.passes, self.true + later.true,
                    self.received + later.received, kept, self.sent + later.sent)

    def per_layer(self, torch, sizes):
        """Tensor [layers × ROWS] of doubles: unweighted sums over the samples of each layer."""
        true, received = self.true, self.received
        implied = true if self.kept is None else true + self.kept
        rows = torch.stack([true * true, received * received, true * received, implied * implied, implied * received,
                            self.sent, (~torch.isfinite(true)).float(), (~torch.isfinite(received)).float(),
                            (true != 0).float()]).double()
        return torch.stack([part.sum(1) for part in rows.split(sizes, 1)])


class WindowSums:
    def __init__(self):
        self._open = []   # windows that wait for their other half, longest first

    def add(self, block):
        """Every window that ends with this block, shortest first."""
        ended = [block]
        while self._open and self._open[-1].level == block.level and block.level < LEVELS:
            block = self._open.pop().joined(block)
            ended.append(block)
        if block.level < LEVELS:
            self._open.append(block)
        return ended

    def interrupted(self):
        """A block is missing: no window spans it."""
        del self._open[:]
