"""Keeps torch.compile away from our code: it would trace our wrappers as if they were the user's model.

A frame that is marked runs as it is, and what it calls is compiled as ever: the same that torch does with its own
DistributedDataParallel.forward.
"""
import sys
import types


def hide(torch):
    """Marks every function of this package; returns how many, 0 without a compiler."""
    skip = _skipper(getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None))
    if skip is None:
        return 0
    codes = list(_codes_of_package())
    for code in codes:
        skip(code)
    return len(codes)


def _skipper(eval_frame):
    """f(code), by whichever function this torch has."""
    if hasattr(eval_frame, "skip_code"):
        return eval_frame.skip_code
    if hasattr(eval_frame, "set_code_exec_strategy"):
        action = eval_frame._FrameAction
        strategy = eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT)
        return lambda code: eval_frame.set_code_exec_strategy(code, strategy)
    return None


def _codes_of_package():
    for name, module in list(sys.modules.items()):
        if name == __package__ or name.startswith(__package__ + "."):
            for value in vars(module).values():
                if getattr(value, "__module__", None) == name:
                    yield from _codes_of(value)


def _codes_of(value):
    if isinstance(value, type):
        for member in vars(value).values():
            yield from _codes_of(member)
    elif isinstance(value, types.FunctionType):
        yield from _nested(value.__code__)


def _nested(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)
