"""The Python side of the collector: what PyTorch does in each step, written through libgradsync_inject.so.

`sitecustomize` calls `arm()` in every interpreter. That costs one small file and one import hook; everything else
is loaded when `torch` has been imported, and nothing is recorded before the process trains. `docs/events.md` says
what is written. Nothing here prints, raises into the job, synchronises or changes a number.

Reading order: `install` (which patches exist), `state` (on or off), `steps`, then one file per kind of event.
"""
import os
import sys


def arm():
    """Says hello and waits for `import torch`. Called once, by sitecustomize, when GSD_RECORDING is set."""
    from . import hello
    hello.write(os.environ["GSD_RECORDING"])
    if not os.environ.get("GSD_LIBRARY"):
        return
    from . import importing
    importing.when_imported("torch", _torch_is_here)
    importing.when_imported("deepspeed", _deepspeed_is_here)


def _torch_is_here():
    from . import install
    install.at_import()


def _deepspeed_is_here():
    from . import deepspeed
    deepspeed.install()


def off():
    """Takes every patch back and writes nothing more. May be called any number of times."""
    install = sys.modules.get(__name__ + ".install")
    if install is not None:
        install.off()
