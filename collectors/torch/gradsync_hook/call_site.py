"""Which line of the user's program is on the stack: `train.py:87 in topk_hook`.

Walks from the caller outwards to the first frame that is neither torch's nor ours. What is known about a code
object is kept by its address, so the usual walk reads a few frame links; nothing is formatted twice.
"""
import os

from .state import CALL_SITE, clock, state

MOST_CODE_OBJECTS = 4096

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_known = {}      # id(code) → (code, None for frames to skip | {last instruction: string id})
_skipped = (_HERE,)
seen_frameworks = set()   # parts of torch and other libraries that issued collectives, by their files


def install(torch):
    global _skipped
    _skipped = (_HERE, os.path.dirname(os.path.abspath(torch.__file__)) + os.sep, "<frozen ")


def string_id(frame):
    """String id of the first user frame from `frame` outwards, 0 when there is none."""
    if not state.find_call_sites:
        return 0
    started = clock()
    result = 0
    while frame is not None:
        code = frame.f_code
        entry = _known.get(id(code))
        if entry is None:
            entry = _learn(code)
        sites = entry[1]
        if sites is not None:
            result = sites.get(frame.f_lasti)
            if result is None:
                result = sites[frame.f_lasti] = state.library.string(_text(code, frame.f_lineno))
            break
        frame = frame.f_back
    state.charge(CALL_SITE, started)
    return result


def of_function(function):
    """Where a callable is defined, as a str; empty for what has no Python code."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return _text(code, code.co_firstlineno) if code is not None else ""


def _text(code, line):
    name = getattr(code, "co_qualname", code.co_name).rpartition("<locals>.")[2]
    return "%s:%d in %s" % (os.path.basename(code.co_filename), line or code.co_firstlineno, name)


def _learn(code):
    filename = code.co_filename
    if len(_known) > MOST_CODE_OBJECTS:  # programs that exec() text in a loop
        _known.clear()
    for part, framework in (("/distributed/fsdp/", "fsdp"), ("/distributed/_composable/", "fsdp"),
                            ("/deepspeed/", "deepspeed"), ("/horovod/", "horovod"), ("/megatron/", "megatron")):
        if part in filename:
            seen_frameworks.add(framework)
    entry = _known[id(code)] = (code, None if filename.startswith(_skipped) else {})
    return entry


state.on_fork.append(_known.clear)
