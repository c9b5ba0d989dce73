"""What this process does that the hook cannot see, said as facts `not_covered.<what>`: absent is not healthy."""
import sys
import weakref

from . import activation, call_site, deepspeed, group_hooks, settings
from .collectives import traffic
from .state import state
from .steps import steps

SETTLED_AFTER, LOOK_EACH = 2, 100   # steps

_FOREIGN = {"deepspeed": "deepspeed", "horovod.torch": "horovod", "apex.parallel": "apex", "bagua": "bagua"}


class Coverage:
    def __init__(self):
        self.reset()

    def reset(self):
        self._ddps = weakref.WeakSet()
        self._hooked = weakref.WeakSet()
        self._settings_told = False

    def ddp_built(self, ddp):
        self._ddps.add(ddp)
        steps.next_look = max(steps.number, 0) + SETTLED_AFTER

    def hook_registered(self, ddp):
        """Its all-reduces are then issued in Python, and recorded there."""
        self._hooked.add(ddp)

    def look(self, number):
        """Two steps after the start or a new DDP, when hooks are registered and modules loaded, and now and then."""
        try:
            activation.tell_group()   # the first look may have come while the group was being made
            self._look_at_ddp()
            self._look_at_modules()
            self._look_at_settings()
            deepspeed.look("deepspeed" in sys.modules)
        except Exception as error:
            state.fault("coverage", error)
        return number + LOOK_EACH

    def _look_at_ddp(self):
        for ddp in list(self._ddps):
            if getattr(ddp, "_use_python_reducer", False):
                activation.tell("not_covered.python_reducer", "compiled autograd calls the hook of DDP by itself")
            elif ddp not in self._hooked and not group_hooks.watch(ddp.process_group):
                activation.tell("not_covered.ddp_all_reduce",
                                "issued in C++: seen in the steps that DDP samples and in the profiler window")

    def _look_at_modules(self):
        frameworks = set(call_site.seen_frameworks)
        frameworks.update(name for module, name in _FOREIGN.items() if module in sys.modules)
        for name in sorted(frameworks):
            activation.tell("not_covered." + name, "its collectives are seen, its phases and compression are not")
        if frameworks and activation.told("framework") == "none":
            activation.tell("framework", sorted(frameworks)[0])
        # functional collectives and compiled code are issued in C++; that their modules are loaded says nothing
        if _compiles():
            if not self._watch_all_groups():
                activation.tell("not_covered.compiled", "what compiled code sends is seen in the profiler window only")
        elif not self._ddps and not self._watch_all_groups() and not traffic.issued:
            activation.tell("not_covered.collectives", "none was issued in Python: those issued in C++ are not seen")

    def _look_at_settings(self):
        """Files beside the job: once."""
        if self._settings_told:
            return
        self._settings_told = True
        settings.tell_extensions()

    def _watch_all_groups(self):
        """False when there are groups that cannot be watched."""
        c10d = sys.modules.get("torch.distributed.distributed_c10d")
        groups = list(getattr(getattr(c10d, "_world", None), "pg_map", ()))
        return all([group_hooks.watch(group) for group in groups])


def _compiles():
    """Whether torch.compile has seen a frame of this process."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    return bool(counters.get("frames", {}).get("total"))


coverage = Coverage()
steps.look = coverage.look
state.on_fork.append(coverage.reset)
