"""Which of torch's own communication hooks a function is, by its module and name; others are `custom`."""

_PACKAGE = "torch.distributed.algorithms.ddp_comm_hooks."
_KINDS = {
    "allreduce_hook": "allreduce",
    "fp16_compress_hook": "fp16_compress",
    "fp16_compress_wrapper": "fp16_compress",
    "bf16_compress_hook": "bf16_compress",
    "bf16_compress_wrapper": "bf16_compress",
    "powerSGD_hook": "powersgd",
    "batched_powerSGD_hook": "batched_powersgd",
    "quantization_pertensor_hook": "quantization",
    "quantization_perchannel_hook": "quantization",
}
COMPRESSING = frozenset(_KINDS.values()) - {"allreduce"}


def kind(hook):
    """`custom` for what is not torch's; a wrapper made by `fp16_compress_wrapper(hook)` is its outer function."""
    if not str(getattr(hook, "__module__", "")).startswith(_PACKAGE):
        return "custom"
    return _KINDS.get(str(getattr(hook, "__qualname__", "")).partition(".<locals>")[0], "custom")


def iterations_before_compression(state):
    """Of PowerSGD's state: how many plain iterations are still to come; None for other states."""
    first, done = getattr(state, "start_powerSGD_iter", None), getattr(state, "iter", None)
    if not isinstance(first, int) or not isinstance(done, int):
        return None
    return max(first - done, 0)
