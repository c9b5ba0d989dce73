"""The memory of error feedback: a tensor as long as the bucket, somewhere in the state of the user's hook.

Looked for in the attributes of the state (properties are not run), in dictionaries and lists of it, and in what the
hook's function has closed over. Found means: under the bucket's index, or the only one of that length. Several that
fit are none, unless the name of one tells (error, residual, memory).
"""
TELLING = ("err", "resid", "memory", "feedback")


def find(hook, hook_state, index, elements):
    """(name, tensor) or (None, None)."""
    found = []
    for name, value in _places(hook, hook_state):
        tensor = _in(value, index, elements)
        if tensor is not None:
            found.append((name, tensor))
    if len(found) > 1:
        telling = [entry for entry in found if any(word in entry[0].lower() for word in TELLING)]
        found = telling if len(telling) == 1 else []
    return found[0] if found else (None, None)


def _places(hook, hook_state):
    if isinstance(hook_state, dict):
        yield from ((str(key), value) for key, value in list(hook_state.items()))
        yield "state", hook_state
    elif isinstance(hook_state, (list, tuple)):
        yield "state", hook_state
    else:
        yield from list(getattr(hook_state, "__dict__", {}).items())
    code, cells = getattr(hook, "__code__", None), getattr(hook, "__closure__", None)
    for name, cell in zip(getattr(code, "co_freevars", ()), cells or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:   # not filled yet
            pass


def _in(value, index, elements):
    if isinstance(value, dict):
        fits = value.get(index)
        if _is_memory(fits, elements):
            return fits
        if len(value) <= 256:
            others = [tensor for tensor in list(value.values()) if _is_memory(tensor, elements)]
            return others[0] if len(others) == 1 else None
        return None
    if isinstance(value, (list, tuple)):
        return value[index] if index < len(value) and _is_memory(value[index], elements) else None
    return value if _is_memory(value, elements) else None


def _is_memory(value, elements):
    return (hasattr(value, "numel") and hasattr(value, "is_floating_point") and not hasattr(value, "parameters")
            and value.numel() == elements and value.is_floating_point() and not value.requires_grad
            and value.is_contiguous())
