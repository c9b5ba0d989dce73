// What the Python hook asks the library for besides the C ABI (src/spool_writer/gsd.h): its hottest calls as CPython
// method definitions. See python_calls.cpp.
#pragma once

#include <stdint.h>

#include "src/spool_writer/gsd.h"

extern "C" {

/// A PyMethodDef table closed by a null name, to be read by collectors/torch/gradsync_hook/builtin_calls.py.
/// The arguments are PyLong_AsUnsignedLongLongMask, PyLong_FromUnsignedLongLong and PyErr_Occurred of the interpreter
/// that will call; null when one is missing. Objects are opaque here.
GSD_EXPORT const void* gsd_python_methods(uint64_t (*integer_of)(void*), void* (*object_of)(uint64_t),
                                          void* (*error)(void));
}
