"""Deep windows: torch's own profiler, on for five steps after ten, and again when the job changes its behaviour.

    idle ──▶ due at step n ──▶ open for 5 steps ──▶ saving ──▶ idle        at most three times in a process

Ranks count the same steps, so they open together without talking about it. The job's own profiler always wins:
we do not open while it is on, and close before it starts (`user_profiler`). The window is opened and closed by the
same thread, because the profiler belongs to a thread.
"""
import os
import sys
import threading

from . import activation, leaving, profile
from .behaviour import behaviour
from .state import WINDOW, clock, state
from .steps import steps

WARM_UP_STEPS, STEPS_OPEN, MOST_WINDOWS = 10, 5, 3
REARM_AT_MULTIPLES_OF = 5   # ranks that notice a change one step apart still agree on the step
LONGEST_SAVING_S = 5.0


class Windows:
    def __init__(self, recording, first_step):
        self.recording = recording
        self.first_step = first_step
        self.most = MOST_WINDOWS
        self.reset()

    def reset(self):
        self.count = 0
        self.due = max(WARM_UP_STEPS, self.first_step)
        self.reason = "warm-up over"
        self.running = None       # the open profile
        self.saving = None        # a thread
        self.event = 0
        self.closes_at = 0
        self.owner = None         # the thread that counts the steps
        self._seen = []           # behaviour of the steps inside

    def begins_deep(self, number):
        return self.running is not None or self._is_saving() or (self._may_open() and number >= self.due)

    def at_step(self, number):
        """The step `number` has just begun."""
        if self.running is None and self.due is None and self.count >= self.most:
            return
        started = clock()
        step = behaviour.take_step()
        thread = threading.get_ident()
        if self.running is not None:
            self._seen.append(step)
            if number >= self.closes_at and thread == self.owner:
                self.close()
        elif self._may_open() and number >= self.due:
            if thread == self.owner:
                self._open(number)
        elif self.due is None and self.count < self.most:
            reason = behaviour.judge(step)
            if reason:
                self.reason = reason
                self.due = (number // REARM_AT_MULTIPLES_OF + 1) * REARM_AT_MULTIPLES_OF
        if self.running is None:
            self.owner = thread
        state.cost[WINDOW] += clock() - started

    def _may_open(self):
        return self.due is not None and state.on and not self._is_saving()

    def _is_saving(self):
        return self.saving is not None and self.saving.is_alive()

    def _open(self, number):
        if profile.job_profiles():
            activation.tell("deep", "skipped: the job's own profiler is on")
            return   # due stays: the next step asks again
        self.due = None
        name = "%s-%d-%d.json" % (os.uname().nodename[:63].replace("/", "_"), os.getpid(), self.count)
        self.count += 1
        started = clock()
        try:
            self.running = profile.Profile(sys.modules["torch"])
            opened = self.running.open()
        except Exception as error:
            self._give_up(error)
            return
        library = state.library
        self.file = name
        self.event = library.window(library.string(name))
        library.attr_str(self.event, library.string("reason"), library.string(self.reason))
        library.attr_int(self.event, library.string("clock_open_ns"), opened)
        self.closes_at = number + STEPS_OPEN
        self._seen = []
        self._opening_ns = clock() - started
        steps.mark_deep()

    def _give_up(self, error):
        """Torch did not let us open it; no window is tried again."""
        activation.tell("deep", "skipped: %s: %s" % (type(error).__name__, error))
        running, self.running = self.running, None
        self.count = self.most
        if running is not None:
            running.abandon()

    def close(self):
        """Ends the window and saves it; called by its own thread, also before the job's profiler starts."""
        running, self.running = self.running, None
        if running is None:
            return
        started = clock()
        try:
            closed = running.close()
            library = state.library
            library.attr_int(self.event, library.string("clock_close_ns"), closed)
            library.window_close(self.event)
            steps.mark_deep()
            behaviour.profiled(self._seen)
            self._save(running)
            library.attr_int(self.event, library.string("cost_ns"), self._opening_ns + clock() - started)
        except Exception as error:
            activation.tell("deep", "skipped: %s: %s" % (type(error).__name__, error))

    def _save(self, running):
        path = os.path.join(self.recording, "windows", self.file)
        if running.is_cheap_to_save():
            self._write(running, path)
        else:
            self.saving = threading.Thread(target=self._write, args=(running, path), name="gsd-window", daemon=True)
            self.saving.start()

    def _write(self, running, path):
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            running.save(path + ".part")
            os.rename(path + ".part", path)
            activation.tell("deep", "done")
        except Exception as error:
            activation.tell("deep", "skipped: not saved: %s" % error)

    def close_if_mine(self):
        """For exits, forks and the job's own profiler."""
        if self.running is not None and threading.get_ident() == self.owner:
            self.close()

    def leave(self):
        self.close_if_mine()
        if self._is_saving():
            self.saving.join(LONGEST_SAVING_S)


def install(torch, windows):
    profile.silence_kineto(torch)
    leaving.at_exit(windows.leave)
    state.on_fork.append(windows.reset)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=windows.close_if_mine)  # a child would inherit a running profiler
