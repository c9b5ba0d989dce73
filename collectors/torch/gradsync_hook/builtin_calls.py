"""The hottest calls of the C ABI as built-in functions: a fifth of what they cost through ctypes.

The library brings a table of CPython method definitions (collectors/inject/python_calls.cpp); here they become
callables. Only functions of the stable ABI are used, by the addresses that this interpreter has them at.
"""
import ctypes
import sys


class Method(ctypes.Structure):
    """PyMethodDef."""
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


def builtin_calls(library):
    """{"begin": callable, …} of a loaded library; empty where the interpreter is not a CPython that can have them."""
    if sys.implementation.name != "cpython" or sys.version_info < (3, 7):
        return {}
    python = ctypes.pythonapi
    needed = (python.PyLong_AsUnsignedLongLongMask, python.PyLong_FromUnsignedLongLong, python.PyErr_Occurred)
    table = library.gsd_python_methods
    table.restype, table.argtypes = ctypes.POINTER(Method), (ctypes.c_void_p,) * len(needed)
    methods = table(*(ctypes.cast(function, ctypes.c_void_p) for function in needed))
    # Own prototype: setting one on pythonapi's attribute would change it for the job as well.
    create = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
        ("PyCFunction_NewEx", python))
    calls, position = {}, 0
    while methods[position].name:
        address = ctypes.addressof(methods.contents) + position * ctypes.sizeof(Method)
        calls[methods[position].name.decode()] = create(address, None, None)
        position += 1
    return calls
