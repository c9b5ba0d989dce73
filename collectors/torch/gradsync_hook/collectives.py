"""Every collective that Python issues: the methods of ProcessGroup are replaced, not the functions above them.

`from torch.distributed import all_reduce` keeps working that way, and the compiler finds the function objects that
it has in its tables. DDP's own all-reduce without a Python hook and functional collectives are issued in C++ and
do not come by here; see `coverage`.
"""
import functools
import sys

from . import call_site, completion, groups, payload, vocabulary as v
from .counters import counters
from .event_name import named
from .patches import patches
from .state import COLLECTIVE, clock, state


class Traffic:
    """What this rank has sent since the last reset, for `behaviour`."""

    def __init__(self):
        self.issued = False   # anything, ever
        self.reset()

    def reset(self):
        self.bytes = 0
        self.by_dtype = {}

    def add(self, size, dtype):
        self.issued = True
        self.bytes += size
        if dtype is not None:
            self.by_dtype[dtype] = self.by_dtype.get(dtype, 0) + size


traffic = Traffic()


def install(torch):
    c10d = getattr(torch._C, "_distributed_c10d", None)
    process_group = getattr(c10d, "ProcessGroup", None)
    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)
    for method, (name, which) in payload.METHODS.items():
        patches.replace("ProcessGroup." + method, process_group, method,
                        lambda original, name=name, which=which: _wrap(original, name_of(name), which, is_compiling))


def name_of(text):
    return named(v.COLLECTIVE, v.NO_PHASE, text)


def _wrap(original, name, which, is_compiling):
    @functools.wraps(original)
    def collective(self, *args, **kwargs):
        if counters.open:
            counters.end()
        if is_compiling() or state.thread.ours or not (state.on or state.wake()):
            return original(self, *args, **kwargs)
        started = clock()
        try:
            caller = sys._getframe(1)
            issued = _issue(self, name, which, args, kwargs, caller)
        except Exception as error:
            issued = None
            state.fault(name.text, error)
        state.charge(COLLECTIVE, started)
        state.thread.issuing = True
        try:
            work = original(self, *args, **kwargs)
        except BaseException:
            if issued is not None:
                state.library.end(issued[0])
            raise
        finally:
            state.thread.issuing = False
        if issued is not None:
            started, nested = clock(), state.nested_cost()
            try:
                _describe(issued, caller)
                completion.follow(work, issued[0], name.text, issued[3], issued[4] and state.follow_completion)
            except Exception as error:
                state.fault(name.text, error)
            state.charge(COLLECTIVE, started + state.nested_cost() - nested)
        return work

    return collective


def _issue(group, name, which, args, kwargs, caller):
    """Opens the event just before the call: (event, elements, dtype, asynchronous device, handle wanted)."""
    size, elements, dtype, asynchronous = payload.measure(args, kwargs, which)
    handle = _is_async(args, kwargs, caller)
    flags = v.ASYNC if handle else 0
    if asynchronous:
        flags |= v.EXTRAPOLATED  # it returns when the device has been told, not when the bytes have arrived
    if state.thread.in_hook:
        flags |= v.IN_HOOK
    traffic.add(size, dtype)
    event = state.library.begin(name.what[flags] or name.pack(flags), size, groups.where(group))
    return event, elements, dtype, asynchronous, handle


def _describe(issued, caller):
    """The attributes, written while the collective already runs."""
    event, elements, dtype = issued[:3]
    describe_dtype(event, dtype, elements)
    site = call_site.string_id(caller)
    if site:
        state.library.attr_str(event, state.library.site, site)


def describe_dtype(event, dtype, elements):
    if dtype is not None:
        library = state.library
        library.attr_str(event, library.dtype, _dtype_ids.get(dtype) or _dtype_id(dtype))
        library.attr_int(event, library.elements, elements)


_dtype_ids = {}      # dtype → string id of its name


def _dtype_id(dtype):
    number = _dtype_ids[dtype] = state.library.string(str(dtype).replace("torch.", ""))
    return number


_asks = {}           # id(code of the caller) → (code, True | False | None: read its argument | function to ask)
_says_async = {}     # type of the last argument → whether it has `asyncOp`


def _is_async(args, kwargs, caller):
    """Whether the caller asked for a handle: newer options say so, else torch's own function has an argument."""
    options = kwargs.get("opts") or (args[-1] if args else None)
    says = _says_async.get(type(options))
    if says is None:
        says = _says_async[type(options)] = hasattr(type(options), "asyncOp")
    if says:
        return options.asyncOp
    code = caller.f_code
    entry = _asks.get(id(code))
    if entry is None:
        entry = _asks[id(code)] = (code, _answer_of(code))
    answer = entry[1]
    if answer is None:
        return bool(caller.f_locals["async_op"])
    return answer(caller) if callable(answer) else answer


def _answer_of(code):
    arguments = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    if "async_op" in arguments:
        return None
    if code.co_name in ("isend", "irecv"):
        return _not_for_send
    return code.co_name not in ("send", "recv", "monitored_barrier")


def _not_for_send(caller):
    """Newer send() and recv() call isend() and irecv(), through a function that logs errors."""
    outer = caller
    for _ in range(3):
        outer = outer.f_back
        if outer is None:
            return True
        if outer.f_code.co_name in ("send", "recv"):
            return outer.f_code.co_filename != caller.f_code.co_filename
    return True


state.on_fork.append(_dtype_ids.clear)
