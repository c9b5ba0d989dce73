"""The C ABI of libgradsync_inject.so (src/spool_writer/gsd.h) as Python callables.

The calls that run many times per step are built-in functions where the interpreter allows (builtin_calls.py). PyDLL keeps the interpreter lock during a call: the calls take tens of nanoseconds and never block, and giving the
lock away would cost more than the call. The library is named by its absolute path and by nothing else.
"""
import ctypes
import os

from . import vocabulary
from .builtin_calls import builtin_calls

U64, U32, I64, TEXT = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int64, ctypes.c_char_p

SIGNATURES = {
    "gsd_abi_version": (U32, ()),
    "gsd_enabled": (ctypes.c_int, ()),
    "gsd_string": (U32, (TEXT, I64)),
    "gsd_begin": (U64, (U64, U64, U64)),
    "gsd_end": (None, (U64,)),
    "gsd_event": (U64, (U64, U64, U64, I64, I64)),
    "gsd_link": (None, (U64, U64)),
    "gsd_attr_int": (None, (U64, U32, I64)),
    "gsd_attr_str": (None, (U64, U32, U32)),
    "gsd_fact": (None, (TEXT, TEXT)),
    "gsd_step": (U64, (I64, U32, U32)),
    "gsd_step_deep": (None, ()),
    "gsd_window": (U64, (U32,)),
    "gsd_window_close": (None, (U64,)),
    "gsd_self_ns": (None, (U64,)),
    "gsd_goodbye": (None, ()),
    "gsd_gpu_yield": (None, ()),
}


class Unavailable(Exception):
    """Why nothing can be recorded in this process."""


class Library:
    """`begin(what, bytes, where)`, `end(event)`, … are the library's own functions; `string` and `fact` take str."""

    def __init__(self, path):
        if not os.path.isabs(path):
            raise Unavailable("GSD_LIBRARY is not an absolute path")
        try:
            library = ctypes.PyDLL(path)
            for name, (result, arguments) in SIGNATURES.items():
                function = getattr(library, name)
                function.restype = result
                function.argtypes = arguments
                setattr(self, name[len("gsd_"):] if name not in ("gsd_string", "gsd_fact") else name, function)
            for name, function in builtin_calls(library).items():
                setattr(self, name, function)
        except (OSError, AttributeError) as error:
            raise Unavailable(str(error))
        if self.abi_version() != vocabulary.ABI_VERSION:
            raise Unavailable("the library speaks ABI %d, the hook %d" % (self.abi_version(), vocabulary.ABI_VERSION))
        if not self.enabled():
            raise Unavailable("the library cannot write a spool here")
        self._strings = {}
        self.dtype = self.elements = self.site = self.compute_end = 0   # string ids of the commonest keys

    def begin_process(self):
        """Once in every process that records, before its first event."""
        self.dtype, self.elements, self.site = map(self.string, ("dtype", "elements", "site"))
        self.compute_end = self.string("compute_end_ns")

    def string(self, text):
        """Id of a string in this process's spool."""
        number = self._strings.get(text)
        if number is None:
            raw = text.encode("utf-8", "replace")
            number = self.gsd_string(raw, len(raw))
            if number and len(self._strings) < 65536:
                self._strings[text] = number
        return number

    def fact(self, key, value):
        self.gsd_fact(key.encode("utf-8", "replace"), str(value).encode("utf-8", "replace"))

    def forget_strings(self):
        """A forked child writes a spool of its own, with ids of its own."""
        self._strings.clear()
