"""Names of events, packed once: the observed job runs this code with cold caches, so each look-up saved counts."""
from . import vocabulary as v
from .state import state

_all = []


class EventName:
    """`name.what[flags] or name.pack(flags)` is GSD_WHAT of an event of this name."""

    __slots__ = ("kind", "phase", "text", "source", "what")

    def __init__(self, kind, phase, text, source=v.TORCH_HOOK):
        self.kind, self.phase, self.text, self.source = kind, phase, text, source
        self.what = [0] * 16
        _all.append(self)

    def pack(self, flags):
        name = state.library.string(self.text)
        packed = self.kind | self.phase << 8 | self.source << 16 | flags << 24 | name << 32
        self.what[flags] = packed if name else 0
        return packed


_by_text = {}


def named(kind, phase, text):
    """For names that are only known when the event happens; there are few different ones."""
    key = kind, phase, text
    found = _by_text.get(key)
    if found is None:
        found = EventName(kind, phase, text)
        if len(_by_text) < 4096:
            _by_text[key] = found
        else:
            _all.pop()
    return found


def _forked():
    for name in _all:
        name.what[:] = [0] * 16


state.on_fork.append(_forked)
