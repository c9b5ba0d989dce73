"""Which passes run without the user's communication hook: fixed before the first one, the same on every rank.

Counted are backward passes that synchronise (in which DDP calls the hook), because those come in pairs on all ranks.

    passes   0 … first │ rehearsal │ quadruple 0: A B B A │ quadruple 1: B A A B │ … │ the user's hook again
    block              1           2                      6

A is the user's hook, B its replacement. Blocks 0 and 1 change nothing: in them the ranks find out whether they agree.
The order within a quadruple is drawn, so that no rhythm of the job can lie on one side.
"""
import hashlib

REHEARSALS, QUADRUPLE = 2, 4   # blocks
USERS, REPLACED = 0, 1         # variants of a step


class Blocks:
    """Blocks of equally many passes from pass `first` on."""

    def __init__(self, first, block):
        self.first, self.block = first, block

    def block_of(self, number):
        """Block of a pass; 0 before the rehearsal."""
        return max(0, (number - self.first) // self.block + 1)

    def is_boundary(self, number):
        return number >= self.first and (number - self.first) % self.block == 0

    def position(self, number):
        """Of a pass within its block."""
        return (number - self.first) % self.block


class Schedule(Blocks):
    """Its block_of() gives `blocks` and more when all is over."""

    def __init__(self, seed, first, block, drop, quadruples, replacement):
        super().__init__(first, block)
        self.seed, self.drop = seed, drop
        self.quadruples, self.replacement = quadruples, replacement
        self.blocks = REHEARSALS + QUADRUPLE * quadruples
        order = "".join(str(self.variant(block)) for block in range(self.blocks))
        self.digest = hashlib.sha256(("%s %s" % (self, order)).encode("ascii")).hexdigest()[:16]

    def __str__(self):
        return "seed=%d first=%d block=%d drop=%d quadruples=%d with=%s" % (
            self.seed, self.first, self.block, self.drop, self.quadruples, self.replacement)

    def variant(self, block):
        quadruple, position = divmod(block - REHEARSALS, QUADRUPLE)
        if not 0 <= quadruple < self.quadruples:
            return USERS
        drawn = hashlib.sha256(b"%d %d" % (self.seed, quadruple)).digest()[0] & 1
        inner = position in (1, 2)
        return REPLACED if inner == (drawn == 0) else USERS


def from_text(text, warm_up=0):
    """`seed=1,first=20,block=6,drop=2,quadruples=40,with=dense`; what is missing has these values.

    It begins `warm_up` passes later. ValueError for what makes no schedule.
    """
    values = {"seed": 1, "first": 20, "block": 6, "drop": 2, "quadruples": 40}
    replacement = "dense"
    for entry in filter(None, text.split(",")):
        name, _, value = entry.partition("=")
        if name == "with":
            replacement = value
        elif name in values:
            values[name] = int(value)
        else:
            raise ValueError("no schedule has %r" % name)
    if not (values["first"] > 0 and 0 <= values["drop"] < values["block"] and values["quadruples"] > 0):
        raise ValueError("no schedule: %s" % text)
    if replacement not in ("dense", "fp16"):
        raise ValueError("nothing to replace the hook with: %s" % replacement)
    values["first"] += warm_up
    return Schedule(replacement=replacement, **values)
