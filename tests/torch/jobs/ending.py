"""How jobs with Python hooks on gloo end: these sometimes abort while the interpreter shuts down, observed or not."""
import os
import sys


def leave():
    """Without that shutdown, after what an observer does at it."""
    sys.stdout.flush()
    leaving = sys.modules.get("gradsync_hook.leaving")
    if leaving is not None:
        leaving.leave()
    os._exit(0)
