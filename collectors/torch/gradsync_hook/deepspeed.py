"""What DeepSpeed was told: stage of ZeRO and optimiser, from the configuration that the command line names or that
deepspeed.initialize() is given. The file is read, nothing else is done with it.
"""
import functools
import json
import os
import sys

from . import activation
from .patches import patches
from .state import state

LARGEST = 1 << 20
_OPTIONS = ("--deepspeed_config", "--deepspeed-config", "--deepspeed", "--ds_config")
_found = {}   # fact → value, until the process is active


def install():
    """Called when deepspeed has been imported."""
    module = sys.modules.get("deepspeed")
    patches.replace("deepspeed.initialize", module, "initialize", _wrap)


def when_active():
    if not _found:
        look_at_arguments(list(sys.argv))
    _tell()


def look(loaded):
    """Some steps into the training: `none` when nobody named a configuration and DeepSpeed is not there."""
    if not _found and not loaded:
        activation.tell("deepspeed.zero_stage", "none")


def look_at_arguments(arguments):
    """--deepspeed_config FILE, --deepspeed FILE or with =; a --deepspeed without a file is a plain switch."""
    for number, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in _OPTIONS:
            if not equals:
                value = arguments[number + 1] if number + 1 < len(arguments) else ""
            if value.endswith(".json") or os.path.isfile(value):
                _take(value)


def _take(config):
    """A path or a dict; of what cannot be read only the name is told."""
    try:
        path = isinstance(config, (str, os.PathLike))
        _found["deepspeed.config"] = os.path.basename(os.fspath(config)) if path else "given in the program"
        if path:
            with open(config, "rb") as file:
                config = json.loads(file.read(LARGEST).decode("utf-8"))
        if not isinstance(config, dict):
            return
        zero = config.get("zero_optimization")
        stage = zero.get("stage", 0) if isinstance(zero, dict) else 0
        optimizer = config.get("optimizer")
        _found["deepspeed.zero_stage"] = stage if isinstance(stage, int) else "not told"
        if isinstance(optimizer, dict) and optimizer.get("type"):
            _found["deepspeed.optimizer"] = str(optimizer["type"])[:80]
    except (OSError, ValueError):
        pass


def _tell():
    for key, value in _found.items():
        activation.tell(key, value)


def _wrap(original):
    @functools.wraps(original)
    def initialize(*args, **kwargs):
        try:
            given = kwargs.get("config", kwargs.get("config_params"))
            if given is None:
                given = getattr(kwargs.get("args", args[0] if args else None), "deepspeed_config", None)
            if given is not None:
                _take(given)
                if state.active:
                    _tell()
        except Exception as error:
            state.fault("deepspeed.initialize", error)
        return original(*args, **kwargs)

    return initialize


state.on_fork.append(_found.clear)
