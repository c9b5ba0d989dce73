"""Whether this process records, and the little that every patch shares.

    armed ── the process trains ──▶ active: `on`, or paused outside GSD_STEPS
      ▲                               │
      └─────── a forked child ────────┘       off() or three faults of ours ──▶ disarmed, for good

Every wrapper begins with `if not state.on` and then calls the original: that is all a job pays that never trains. All fields are written under the interpreter lock; none needs more.
"""
import threading
import time

clock = time.monotonic_ns

# what our time is spent on: indices of state.cost
COLLECTIVE, COMPLETION, CALL_SITE, HOST_SYNC, COMM_HOOK, PHASE, STEP, WINDOW, QUALITY = range(9)
COST_NAMES = ("collectives", "done callbacks", "call sites", "item and tolist", "comm hook", "phases", "steps",
              "window", "quality")

LONGEST_CHARGE = 100000   # ns
FAULTS_ALLOWED = 2


class _PerThread(threading.local):
    in_hook = False   # this thread runs code of the user's comm hook, or of a callback made inside it
    hook = 0          # reference of that hook's event
    in_group_hook = False   # inside a function that the process group calls
    issuing = False   # inside a ProcessGroup method that we record
    ours = False      # the collective that is issued is ours, and none of the job's
    backward = 0      # depth of torch.autograd.backward on this thread


class State:
    def __init__(self):
        self.armed = True
        self.on = False
        self.active = False      # the process trains: the library is loaded, facts are written
        self.library = None
        self.thread = _PerThread()
        self.cost = [0] * len(COST_NAMES)
        self.faults = 0
        self.follow_completion = True   # the optional parts that the budget may drop
        self.find_call_sites = True
        self.on_fork = []        # called in a forked child
        self.on_fatal = None     # takes all patches back
        self.start = None        # () → None: makes the process active, set by `activation`

    def trains(self):
        """For wrappers that prove that the process trains: makes it active; False when it cannot be."""
        if not self.active and self.armed and self.start is not None:
            try:
                self.start()
            except Exception as error:
                self.fault("activation", error)
        return self.active

    def wake(self):
        """The same, for wrappers that write events: True when events are written now."""
        return self.trains() and self.on

    def charge(self, part, started):
        """Counts the time since `started` as ours.

        At most 100 us: whoever loses the processor or the interpreter in our code would have lost it in the job's
        next line, and would otherwise be charged for other threads' work.
        """
        spent = clock() - started
        self.cost[part] += spent if spent < LONGEST_CHARGE else LONGEST_CHARGE

    def nested_cost(self):
        """What parts that are called by other parts have charged."""
        return self.cost[CALL_SITE] + self.cost[COMPLETION]

    def fault(self, where, error):
        """An unexpected error in our own code. The third one ends the observation of this process."""
        self.faults += 1
        try:
            reason = "%s: %s: %s" % (where, type(error).__name__, error)
            if self.library is not None:
                self.library.fact("hook.fault", reason)
            if self.faults > FAULTS_ALLOWED and self.armed:
                if self.library is not None:
                    self.library.fact("hook.disabled", reason)
                self.disarm()
                if self.on_fatal is not None:
                    self.on_fatal()
        except Exception:
            self.disarm()

    def disarm(self):
        self.armed = self.active = self.on = False

    def after_fork(self):
        """A child is not a rank because its parent is one: it starts again as armed."""
        self.on = False
        self.active = False
        self.thread = _PerThread()
        self.cost[:] = [0] * len(COST_NAMES)
        if self.library is not None:
            self.library.forget_strings()
        for reset in self.on_fork:
            reset()


state = State()
