"""Collectives that are issued in C++: DDP's own all-reduce, functional collectives, compiled code.

Newer versions of torch let a process group call a function before and after each collective, whoever issues it.
They are used only on groups where such collectives are expected, because they cost every collective of the group
some microseconds. What Python issues on such a group has been recorded already and is left out here.
"""
import weakref

from . import completion, groups, payload, vocabulary as v
from .collectives import describe_dtype, name_of, traffic
from .state import COLLECTIVE, clock, state

_HOOK_ID = 0x47534401   # of ours; torch refuses a second hook under the same number
_STARTS = (("ALLREDUCE", "all_reduce"), ("ALLGATHER", "all_gather"), ("REDUCESCATTER", "reduce_scatter"),
           ("REDUCE", "reduce"), ("BROADCAST", "broadcast"), ("ALLTOALL", "all_to_all"), ("GATHER", "gather"),
           ("SCATTER", "scatter"), ("BARRIER", "barrier"), ("SEND", "send"), ("RECV", "recv"))
_names = {}
_watched = weakref.WeakSet()
_open = {}              # (id(group), operation id) → (event, name, asynchronous device)


def available(group):
    return hasattr(group, "register_pre_hook") and hasattr(group, "register_post_hook")


def watch(group):
    """True when collectives that C++ issues on this group are recorded from now on.

    Their end needs a callback, so they go when the budget drops those.
    """
    if not available(group) or group in _watched or not state.follow_completion:
        return group in _watched
    reference = weakref.ref(group)
    group.register_pre_hook(_HOOK_ID, lambda call: _called_before(reference, call))
    group.register_post_hook(_HOOK_ID, lambda call: _called_after(reference, call))
    _watched.add(group)
    return True


def _called_before(reference, call):
    if state.on and not state.thread.issuing and not state.thread.ours:
        _guarded(_before, reference, call)


def _called_after(reference, call):
    if _open:   # nearly always what was opened a moment ago
        _guarded(_after, reference, call)


def _guarded(what, reference, call):
    """An exception of ours would end up in the job's collective."""
    started = clock()
    group = reference()
    if group is None:
        return
    state.thread.in_group_hook = True
    try:
        what(group, call)
    except Exception as error:
        state.fault("group hook", error)
    state.thread.in_group_hook = False
    state.charge(COLLECTIVE, started)


def unwatch_all():
    """Also before the interpreter goes: groups may outlive it, and must not hold functions of Python then.

    A hook must not take itself away: after a fault inside one, this waits for the exit.
    """
    if state.thread.in_group_hook:
        return
    for group in list(_watched):
        try:
            group.unregister_pre_hook(_HOOK_ID)
            group.unregister_post_hook(_HOOK_ID)
        except Exception:  # destroyed in the meantime
            pass
    _watched.clear()
    _open.clear()


def _before(group, call):
    name = _name(call.name)
    if name is None:
        return
    tensors = call.output_tensors if name in ("reduce_scatter", "scatter") else call.input_tensors
    size, elements, dtype, asynchronous = payload.measure((tensors,), {}, 0 if tensors else -1)
    flags = (v.ASYNC if call.async_op else 0) | (v.EXTRAPOLATED if asynchronous else 0)
    traffic.add(size, dtype)
    packed = name_of(name)
    event = state.library.begin(packed.what[flags] or packed.pack(flags), size, groups.where(group))
    describe_dtype(event, dtype, elements)
    _open[id(group), call.op_id] = event, name, asynchronous


def _after(group, call):
    opened = _open.pop((id(group), call.op_id), None)
    if opened is not None:
        completion.follow(call.work, *opened, handle=True)   # nobody waits for it in Python


def _name(operation):
    """Our name of torch's HookOpName, None for what moves no data."""
    if operation not in _names:
        text = str(getattr(operation, "name", operation)).replace("_", "")
        _names[operation] = next((name for start, name in _STARTS if text.startswith(start)), None)
    return _names[operation]


state.on_fork.append(_open.clear)
