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


def tensors_of(argument):
    """The tensors in a tensor, a list of tensors, or a list of lists of tensors."""
    if not isinstance(argument, (list, tuple)):
        return (argument,)
    if argument and isinstance(argument[0], (list, tuple)):
        return [tensor for part in argument for tensor in part]
    return argument


def measure(args, kwargs, which):
    """(bytes, elements, dtype or None, on a device whose work is asynchronous) of the counted argument."""
    if which == _NONE:
        return 0, 0, None, False
    if len(args) <= which:
        args = list(args) + list(kwargs.values())
    size = elements = 0
    dtype = None
    asynchronous = False
    for tensor in tensors_of(args[which]):
        count = tensor.numel()
        elements += count
        size += count * tensor.element_size()
        if dtype is None:
            dtype = tensor.dtype
            asynchronous = tensor.device.type != "cpu"
    return size, elements, dtype, asynchronous
