"""What ranks agree on through the job's own store, without ever waiting for each other.

    at/K   what the first rank to begin block K says of itself; the others must say the same
    ok/K   how many ranks have said so
    go/K   what happens in block K: `yes`, `stop` or `off: <why>`. The first word counts, for everybody

Each key is written by one atomic operation and read by the same, so that no rank can see an agreement that another does
not. A rank that says nothing is missing in ok/K a block later; by then every rank has passed block K, because each pass
synchronises them.
"""

YES, STOP, OFF = "yes", "stop", "off: "


class Agreement:
    def __init__(self, store, group, members, about="ab"):
        self._store, self._members = store, members
        self._prefix = "gsd_%s/%s/" % (about, group)

    def report(self, block, text):
        """None, or how this rank and another one differ."""
        said = self.first_word("at/%d" % block, text)
        if said != text:
            return "the ranks are not at the same place: %s and %s" % (said, text)
        self._store.add(self._prefix + "ok/%d" % block, 1)
        return None

    def all_reported(self, block):
        return self._store.add(self._prefix + "ok/%d" % block, 0) >= self._members

    def decide(self, block, wish):
        """What happens in this block: `wish`, unless somebody was faster."""
        return self.first_word("go/%d" % block, wish)

    def first_word(self, key, text):
        """What the fastest rank said under a key: `text` for the fastest."""
        said = self._store.compare_set(self._prefix + key, "", text)
        return said.decode("utf-8", "replace") if isinstance(said, bytes) else said


def of_group(torch, group, label, about="ab"):
    """Of the ranks of a process group, about one experiment. ValueError: the job has no store that could carry it."""
    c10d = torch.distributed.distributed_c10d
    get = getattr(c10d, "_get_default_store", None)
    store = get() if get is not None else None
    if not hasattr(store, "compare_set") or not hasattr(store, "add"):
        raise ValueError("the job's store cannot carry an agreement")
    return Agreement(store, label, group.size(), about)
