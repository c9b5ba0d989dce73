# Runs at the start of every Python interpreter of an observed job, because `gradsync-doctor run` puts this
# folder first in PYTHONPATH. It arms the hook and then runs the sitecustomize it hides, as if it were not there.
# Any interpreter may come along (old ones too), so the syntax here stays plain; nothing here imports torch.
import os
import sys


def _arm():
    if not os.environ.get("GSD_RECORDING"):
        return
    try:
        import gradsync_hook
        gradsync_hook.arm()
    except Exception:  # a job never fails or prints because it is observed; a missing hello tells the doctor
        pass


def _chain():
    # Without this folder and this module the interpreter's own import finds the next one, whatever finders,
    # archives or errors are involved. The folder stays out: nothing of ours is imported by path later.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", None) != "sitecustomize":
            raise
        if this is not None:
            sys.modules["sitecustomize"] = this


_arm()
_chain()
