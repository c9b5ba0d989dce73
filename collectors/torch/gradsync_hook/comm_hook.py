"""The user's DDP communication hook: wrapped, so the job's numbers stay the job's own (but see `ab` for run --ab).

    hook(state, bucket) ── range, phase compress ──▶ future ── callbacks added inside it: range, phase decompress

A hook without `__name__` (a functools.partial, an object) passes through: DDP refuses it, and would not refuse our
wrapper. Pickle finds the user's function in DDP, not ours.
"""
import functools

from . import ab, activation, call_site, known_hooks, quality, vocabulary as v
from .backward import Pass
from .behaviour import behaviour
from .counters import counters
from .coverage import coverage
from .event_name import EventName, named
from .patches import patches
from .state import COMM_HOOK, clock, state
from .steps import steps


def install(torch):
    ddp = torch.nn.parallel.DistributedDataParallel
    patches.replace("DistributedDataParallel.register_comm_hook", ddp, "register_comm_hook", _wrap_register)
    patches.replace("DistributedDataParallel._register_builtin_comm_hook", ddp, "_register_builtin_comm_hook",
                    _wrap_builtin)


def install_when_active(torch):
    patches.replace("Future.then", getattr(torch._C, "Future", None), "then", _wrap_then)


def _wrap_register(original):
    @functools.wraps(original)
    def register_comm_hook(self, *args, **kwargs):
        hook = wrapper = None
        try:
            hook = kwargs["hook"] if "hook" in kwargs else args[1]
            wrapper = _observed(self, hook, kwargs["state"] if "state" in kwargs else args[0])
            if wrapper is not None:
                args, kwargs = _with_hook(wrapper, args, kwargs)
        except IndexError:  # torch complains about its missing arguments itself
            pass
        except Exception as error:
            state.fault("register_comm_hook", error)
        result = original(self, *args, **kwargs)
        if state.active:
            coverage.hook_registered(self)
        if wrapper is not None:
            _show_the_users(self, wrapper, hook)
        return result

    return register_comm_hook


def _with_hook(hook, args, kwargs):
    if "hook" in kwargs:
        return args, dict(kwargs, hook=hook)
    return args[:1] + (hook,) + args[2:], kwargs


def _show_the_users(ddp, wrapper, hook):
    """DDP keeps a list of its hooks for its Python reducer and for pickling: there the user's function belongs."""
    hooks = getattr(ddp, "_comm_hooks", None)
    if isinstance(hooks, list):
        hooks[:] = [(hook if entry[0] is wrapper else entry[0],) + tuple(entry[1:]) for entry in hooks]


def _observed(ddp, hook, hook_state):
    """A function that times `hook`, or None when it has to stay as it is."""
    if not state.trains():
        return None
    kind = known_hooks.kind(hook)
    activation.tell("hook.kind", kind)
    if not hasattr(hook, "__name__") or not hasattr(hook, "__qualname__"):
        activation.tell("hook.name", type(hook).__qualname__)
        activation.tell("hook.wrapped", "no: a %s has no name" % type(hook).__qualname__)
        for experiment in (ab, quality):
            experiment.cannot("the hook has no name, so DDP refuses a wrapper of it")
        return None
    activation.tell("hook.name", hook.__qualname__)
    activation.tell("hook.wrapped", "yes")
    plain = known_hooks.iterations_before_compression(hook_state)
    start = _Start(kind, hook_state, plain)
    return quality.around(ddp, hook, hook_state, _wrap_hook(hook, start, ab.begin(ddp, plain or 0)))


class _Start:
    """Notices the first step in which the hook compresses: at once, or when PowerSGD's warm-up is over."""

    def __init__(self, kind, hook_state, plain):
        self.state = hook_state
        self.compresses = kind != "allreduce"
        self.waiting = plain is not None and plain > 0
        if self.compresses:
            activation.tell("hook.start_step", max(steps.number, 0) + (plain or 0))

    def look(self):
        if self.waiting and known_hooks.iterations_before_compression(self.state) == 0:
            self.waiting = False
            activation.tell("hook.start_step", max(steps.number, 0))
            behaviour.hook_started()


class _Buckets:
    """Index and bytes of each bucket, without asking it once they no longer change.

    DDP hands its buckets over in order of index, and settles their sizes in the first two iterations. Asking costs
    four calls into C++, some 25 us with the caches of a backward pass.
    """

    SETTLED_AFTER = 4   # backward passes

    def __init__(self):
        self.sizes = []
        self.next = 0
        self.of_pass = self.passes = 0

    def look(self, bucket):
        """(index, bytes) of the bucket that is handed over now."""
        if self.of_pass != Pass.count:
            self.of_pass = Pass.count
            self.passes += 1
            self.next = 0
        index = self.next
        self.next += 1
        if self.passes > self.SETTLED_AFTER and index < len(self.sizes):
            return index, self.sizes[index]
        return self._ask(bucket)

    def _ask(self, bucket):
        tensor = bucket.buffer() if hasattr(bucket, "buffer") else bucket.get_tensor()
        index = _index(bucket)
        size = tensor.numel() * tensor.element_size()
        if index == 0:
            del self.sizes[:]
        if index == len(self.sizes):
            self.sizes.append(size)
        return index, size


def _wrap_hook(hook, start, experiment):
    name = EventName(v.RANGE, v.COMPRESS, hook.__qualname__)
    site = call_site.of_function(hook)
    buckets = _Buckets()

    @functools.wraps(hook)
    def observed_hook(hook_state, bucket):
        if experiment is not None and experiment.at_bucket(_index(bucket)):   # also when we no longer observe
            return experiment.replace(bucket)
        if not state.on:
            return hook(hook_state, bucket)
        started = clock()
        thread, event = state.thread, 0
        outer = thread.in_hook, thread.hook
        try:
            index, size = buckets.look(bucket)
            event = _begin(name, site, index, size)
            start.look()
            if start.compresses and not start.waiting:
                behaviour.compressing = True
            thread.in_hook, thread.hook = True, event
            state.charge(COMM_HOOK, started)
            if counters.wanted:   # may wait for the device, in a step that counts nowhere
                counters.begin(index)
        except Exception as error:
            state.fault("comm hook", error)
        try:
            return hook(hook_state, bucket)
        finally:
            if counters.open:   # it issued no collective that we saw
                counters.end()
            thread.in_hook, thread.hook = outer
            state.library.end(event)

    return observed_hook


def _index(bucket):
    return bucket.index() if hasattr(bucket, "index") else bucket.get_index()


def _begin(name, site, index, size):
    library = state.library
    event = library.begin(name.what[v.IN_HOOK] or name.pack(v.IN_HOOK), size, index << 32)
    if site:
        library.attr_str(event, library.site, library.string(site))
    return event


def _wrap_then(original):
    @functools.wraps(original)
    def then(self, callback, *args, **kwargs):
        if state.on and state.thread.in_hook and callable(callback):
            callback = _decompressing(callback, state.thread.hook)
        return original(self, callback, *args, **kwargs)

    return then


def _decompressing(callback, hook):
    name = named(v.RANGE, v.DECOMPRESS, getattr(callback, "__qualname__", None) or type(callback).__qualname__)

    def observed_callback(future):
        if not state.on:
            return callback(future)
        thread = state.thread
        outer = thread.in_hook, thread.hook
        thread.in_hook, thread.hook = True, hook
        start = clock()
        try:
            return callback(future)
        finally:
            ended = clock()
            thread.in_hook, thread.hook = outer
            try:
                library = state.library
                event = library.event(name.what[v.IN_HOOK] or name.pack(v.IN_HOOK), 0, 0, start, ended)
                library.link(event, hook)
            except Exception as error:
                state.fault("hook callback", error)
            state.charge(COMM_HOOK, ended)

    return observed_callback


def _wrap_builtin(original):
    @functools.wraps(original)
    def _register_builtin_comm_hook(self, comm_hook_type, *args, **kwargs):
        result = original(self, comm_hook_type, *args, **kwargs)
        try:
            if state.trains():
                activation.tell("hook.kind", "builtin:" + str(comm_hook_type).rpartition(".")[2])
                activation.tell("hook.name", str(comm_hook_type))
                ab.cannot("a built-in hook runs in C++ and cannot be left out")
                quality.cannot("a built-in hook runs in C++ and cannot be looked at")
                if str(comm_hook_type).rpartition(".")[2] != "ALLREDUCE":
                    activation.tell("hook.start_step", max(steps.number, 0))
        except Exception as error:
            state.fault("_register_builtin_comm_hook", error)
        return result

    return _register_builtin_comm_hook
