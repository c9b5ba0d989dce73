"""How many bytes of this rank a collective carries, from the arguments of the ProcessGroup method."""

# method of torch._C._distributed_c10d.ProcessGroup → (name of the event, which argument is counted).
# The counted argument is this rank's input; of reduce_scatter and scatter it is the part each rank receives.
# Order of arguments: (tensors, options), or (output, input, …) where both exist.
_FIRST, _SECOND, _NONE = 0, 1, -1
METHODS = {
    "allreduce": ("all_reduce", _FIRST),
    "allreduce_coalesced": ("all_reduce", _FIRST),
    "allgather": ("all_gather", _SECOND),
    "_allgather_base": ("all_gather", _SECOND),
    "all_gather_single": ("all_gather", _SECOND),
    "allgather_coalesced": ("all_gather", _SECOND),
    "all_gather_single_coalesced": ("all_gather", _SECOND),
    "allgather_into_tensor_coalesced": ("all_gather", _SECOND),
    "reduce_scatter": ("reduce_scatter", _FIRST),
    "_reduce_scatter_base": ("reduce_scatter", _FIRST),
    "reduce_scatter_single": ("reduce_scatter", _FIRST),
    "reduce_scatter_single_coalesced": ("reduce_scatter", _FIRST),
    "reduce_scatter_tensor_coalesced": ("reduce_scatter", _FIRST),
    "alltoall": ("all_to_all", _SECOND),
    "alltoall_base": ("all_to_all", _SECOND),
    "all_to_all_single": ("all_to_all", _SECOND),
    "broadcast": ("broadcast", _FIRST),
    "reduce": ("reduce", _FIRST),
    "gather": ("gather", _SECOND),
    "gather_single": ("gather", _SECOND),
    "gather_into_tensor": ("gather", _SECOND),
    "scatter": ("scatter", _FIRST),
    "barrier": ("barrier", _NONE),
    "send": ("send", _FIRST),
    "recv": ("recv", _FIRST),
    "recv_anysource": ("recv", _FIRST),
}
POINT_TO_POINT = ("send", "recv")   # their work has no future


_widths = {}   # dtype → bytes of one element; each call into a tensor costs microseconds with cold caches


def measure(args, kwargs, which):
    """(bytes, elements, dtype or None, on a device whose work is asynchronous) of the counted argument."""
    if which == _NONE:
        return 0, 0, None, False
    if len(args) <= which:
        args = list(args) + list(kwargs.values())
    argument = args[which]
    while isinstance(argument, (list, tuple)) and len(argument) == 1:
        argument = argument[0]
    if not isinstance(argument, (list, tuple)):   # nearly always: one tensor
        elements, dtype = argument.numel(), argument.dtype
        width = _widths.get(dtype) or _width(argument)
        return elements * width, elements, dtype, argument.device.type != "cpu"
    size = elements = 0
    first = None
    for tensor in _flat(argument):
        first = tensor if first is None else first
        count = tensor.numel()
        elements += count
        size += count * (_widths.get(tensor.dtype) or _width(tensor))
    return size, elements, getattr(first, "dtype", None), first is not None and first.device.type != "cpu"


def _width(tensor):
    width = _widths[tensor.dtype] = tensor.element_size()
    return width


def _flat(argument):
    """The tensors in a list of tensors or of lists of tensors."""
    for part in argument:
        if isinstance(part, (list, tuple)):
            yield from part
        else:
            yield part
