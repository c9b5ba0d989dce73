"""Names and counters of process groups: every rank must call the same group by the same name."""
import itertools
import sys
import weakref

from .state import state

_known = {}     # id(group) → (weak reference, string id of the label, counter of its collectives)


def where(group):
    """GSD_WHERE of the next collective on this group."""
    entry = _known.get(id(group))
    if entry is None or entry[0]() is not group:
        entry = _known[id(group)] = (_reference(group), state.library.string(label(group)), itertools.count())
    return entry[1] | next(entry[2]) << 32


def label(group):
    """`default_pg` for the world; else torch's own name of the group, which is the same on all its ranks."""
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    try:
        if group is c10d._get_default_group():
            return "default_pg"
    except Exception:  # not initialised: a group made by hand
        pass
    name = getattr(group, "group_name", None) or _name_in_table(c10d, group)
    description = getattr(group, "group_desc", None)
    if name and description and description not in ("undefined", name):
        return "%s:%s" % (description, name)
    return "pg:%s" % name if name else "unnamed"


def _name_in_table(c10d, group):
    return getattr(c10d, "_pg_names", {}).get(group)


def _reference(group):
    try:
        return weakref.ref(group)
    except TypeError:
        return lambda: group


state.on_fork.append(_known.clear)
