"""Replaces attributes of torch's classes and modules, remembers how to put them back, and reports each one.

A patch that cannot be applied never matters to the job: it becomes a fact `patch.<name>`.
"""

_MISSING = object()


class Patches:
    def __init__(self):
        self._applied = []   # (name, owner, attribute, what owner.__dict__ held, replacement)
        self.outcome = {}    # name → "applied" | "missing" | "failed: <why>"

    def replace(self, name, owner, attribute, make):
        """Sets owner.attribute = make(original). An inherited attribute is shadowed, not changed where it lives."""
        original = getattr(owner, attribute, None) if owner is not None else None
        if original is None:
            self.outcome[name] = "missing"
            return
        try:
            before = vars(owner).get(attribute, _MISSING)
            replacement = make(original)
            setattr(owner, attribute, replacement)
            self._applied.append((name, owner, attribute, before, replacement))
            self.outcome[name] = "applied"
        except Exception as error:
            self.outcome[name] = "failed: %s: %s" % (type(error).__name__, error)

    def note(self, name, outcome):
        """For patches that are a call to a public registration function."""
        self.outcome[name] = outcome

    def undo(self, prefix=""):
        """Puts back every patch whose name starts with `prefix`, newest first, unless somebody patched over it."""
        kept = []
        for entry in reversed(self._applied):
            name, owner, attribute, before, replacement = entry
            if not name.startswith(prefix):
                kept.append(entry)
                continue
            try:
                if vars(owner).get(attribute, _MISSING) is not replacement:
                    continue  # a later wrapper holds ours; ours passes everything through once we are off
                if before is _MISSING:
                    delattr(owner, attribute)
                else:
                    setattr(owner, attribute, before)
            except Exception as error:
                self.outcome[name] = "failed: not undone: %s" % error
        self._applied = kept[::-1]


patches = Patches()
