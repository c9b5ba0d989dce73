"""The backward pass, and the moment in it when there is no more gradient work.

    torch.autograd.backward ├── gradients, DDP's all-reduces start ──┤ compute_end ── waits for communication ──┤

A hook on the root tensor runs before all others and queues a callback of the engine. The engine calls its callbacks
in order when no work is left, so ours comes before the one in which DDP waits for its buckets.
"""
import functools
import sys

from . import vocabulary as v
from .event_name import EventName
from .patches import patches
from .state import PHASE, clock, state
from .steps import steps

_BACKWARD = EventName(v.RANGE, v.BACKWARD, "backward")

_OURS = object()   # our key among the user's hooks
_engine = None
_tensor_types = ()


def install(torch):
    global _engine, _tensor_types
    _engine = getattr(getattr(torch.autograd, "Variable", None), "_execution_engine", None)
    _tensor_types = (torch.Tensor, torch.nn.Parameter)
    patches.replace("autograd.backward", torch.autograd, "backward", _wrap)
    if not hasattr(_engine, "queue_callback"):
        _engine = None
    patches.note("Engine.queue_callback", "missing" if _engine is None else "applied")


def _wrap(original):
    @functools.wraps(original)
    def backward(*args, **kwargs):
        if not state.active or state.thread.backward:  # reentrant checkpointing calls it inside itself
            return original(*args, **kwargs)
        pass_ = None
        try:
            if steps.pending:
                steps.advance()
            if state.on:
                pass_ = Pass(args, kwargs)
        except Exception as error:
            state.fault("backward", error)
        if pass_ is None:
            return original(*args, **kwargs)
        thread = state.thread
        thread.backward += 1
        try:
            return original(*args, **kwargs)
        finally:
            thread.backward -= 1
            pass_.finish()
            if steps.pass_finished is not None:
                steps.pass_finished()

    return backward


class Pass:
    __slots__ = ("start", "compute_end", "root", "hooks")

    count = 0   # passes of the process

    def __init__(self, args, kwargs):
        started = clock()
        Pass.count += 1
        self.compute_end = 0
        self.hooks = None
        if _engine is not None:
            self._watch(args[0] if args else kwargs.get("tensors"))
        self.start = clock()
        state.charge(PHASE, started)

    def _watch(self, roots):
        """Hooks the first root that is an ordinary tensor of a graph, unless the pass is compiled.

        As Tensor.register_hook does it, without the handle that makes it three times as dear.
        """
        if _compiled_autograd():
            return
        for root in (roots if isinstance(roots, (list, tuple)) else (roots,)):
            if type(root) in _tensor_types:
                node = root.grad_fn
                if node is not None:
                    hooks = root._backward_hooks
                    if hooks is None:
                        hooks = root._backward_hooks = {}
                        node._register_hook_dict(root)
                    hooks[_OURS] = self._first_gradient
                    self.root, self.hooks = root, hooks
                    return

    def _unwatch(self):
        """Leaves the user's tensor as it was; a graph that is kept has an empty dictionary."""
        hooks, self.hooks = self.hooks, None
        hooks.pop(_OURS, None)
        if type(hooks) is dict:   # torch's own are of another type
            self.root._backward_hooks = None
        self.root = None

    def _first_gradient(self, _):
        try:
            _engine.queue_callback(self._no_more_work)
        except Exception:  # not on the engine's own pass: no attribute then
            pass

    def _no_more_work(self):
        self.compute_end = clock()

    def finish(self):
        """At the end of the pass, also when it raised."""
        started = clock()
        try:
            library = state.library
            event = library.event(_BACKWARD.what[0] or _BACKWARD.pack(0), 0, 0, self.start, started)
            if self.compute_end:
                library.attr_int(event, library.compute_end, self.compute_end)
            if self.hooks is not None:
                self._unwatch()
            if steps.pending > self.start:  # optimisers that step inside the pass: the step ends with it
                steps.pending = clock()
        except Exception as error:
            state.fault("backward", error)
        state.charge(PHASE, started)


def _compiled_autograd():
    """Compiled autograd would trace our hook into its graph."""
    module = sys.modules.get("torch._dynamo.compiled_autograd")
    return bool(getattr(module, "compiled_autograd_enabled", False)
                or getattr(module, "in_compiled_autograd_region", False))
