// The calls of the C ABI that run many times per step, as built-in functions of CPython: a call through ctypes converts
// each argument by way of three objects and costs five times as much as the event itself.
//
// Nothing of Python is linked. The hook passes the addresses of three functions of the stable ABI and makes callables
// of the table with PyCFunction_NewEx. Layout and flag of the table: PyMethodDef and METH_FASTCALL in CPython's
// methodobject.h, in this form since 3.7. Arguments that are not integers raise TypeError as they do through ctypes.
#include "collectors/inject/python_calls.h"

#include <stddef.h>
#include <stdint.h>

namespace {

using Object = void;
using FastCall = Object* (*)(Object* self, Object* const* arguments, ptrdiff_t count);

struct Method {  // PyMethodDef
  const char* name;
  FastCall function;
  int flags;
  const char* doc;
};
constexpr int kFastCall = 0x0080;

struct {
  uint64_t (*integer_of)(Object*);  // PyLong_AsUnsignedLongLongMask
  Object* (*object_of)(uint64_t);   // PyLong_FromUnsignedLongLong
  Object* (*error)(void);           // PyErr_Occurred
} g_python;

/// The integers of a call; a missing one is 0.
class Arguments {
 public:
  Arguments(Object* const* objects, ptrdiff_t count) : objects_(objects), count_(count) {}

  uint64_t operator[](ptrdiff_t position) {
    if (position >= count_) return 0;
    const uint64_t value = g_python.integer_of(objects_[position]);
    if (value == UINT64_MAX && g_python.error() != nullptr) failed_ = true;
    return value;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  Object* const* objects_;
  ptrdiff_t count_;
  bool failed_ = false;
};

Object* begin(Object* /*self*/, Object* const* objects, ptrdiff_t count) {
  Arguments given(objects, count);
  const uint64_t what = given[0], bytes = given[1], where = given[2];
  return given.failed() ? nullptr : g_python.object_of(gsd_begin(what, bytes, where));
}

Object* end(Object* /*self*/, Object* const* objects, ptrdiff_t count) {
  Arguments given(objects, count);
  const uint64_t event = given[0];
  if (given.failed()) return nullptr;
  gsd_end(event);
  return g_python.object_of(0);
}

Object* whole_event(Object* /*self*/, Object* const* objects, ptrdiff_t count) {
  Arguments given(objects, count);
  const uint64_t what = given[0], bytes = given[1], where = given[2];
  const auto start = static_cast<int64_t>(given[3]), stop = static_cast<int64_t>(given[4]);
  return given.failed() ? nullptr : g_python.object_of(gsd_event(what, bytes, where, start, stop));
}

Object* link(Object* /*self*/, Object* const* objects, ptrdiff_t count) {
  Arguments given(objects, count);
  const uint64_t event = given[0], correlation = given[1];
  if (given.failed()) return nullptr;
  gsd_link(event, correlation);
  return g_python.object_of(0);
}

Object* integer_attribute(Object* /*self*/, Object* const* objects, ptrdiff_t count) {
  Arguments given(objects, count);
  const uint64_t event = given[0], key = given[1];
  const auto value = static_cast<int64_t>(given[2]);
  if (given.failed()) return nullptr;
  gsd_attr_int(event, static_cast<uint32_t>(key), value);
  return g_python.object_of(0);
}

Object* string_attribute(Object* /*self*/, Object* const* objects, ptrdiff_t count) {
  Arguments given(objects, count);
  const uint64_t event = given[0], key = given[1], value = given[2];
  if (given.failed()) return nullptr;
  gsd_attr_str(event, static_cast<uint32_t>(key), static_cast<uint32_t>(value));
  return g_python.object_of(0);
}

Method g_methods[] = {
    {"begin", begin, kFastCall, "gsd_begin(what, bytes, where) -> event"},
    {"end", end, kFastCall, "gsd_end(event)"},
    {"event", whole_event, kFastCall, "gsd_event(what, bytes, where, start_ns, end_ns) -> event"},
    {"link", link, kFastCall, "gsd_link(event, correlation)"},
    {"attr_int", integer_attribute, kFastCall, "gsd_attr_int(event, key, value)"},
    {"attr_str", string_attribute, kFastCall, "gsd_attr_str(event, key, value)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

const void* gsd_python_methods(uint64_t (*integer_of)(Object*), Object* (*object_of)(uint64_t),
                               Object* (*error)(void)) {
  if (integer_of == nullptr || object_of == nullptr || error == nullptr) return nullptr;
  g_python = {integer_of, object_of, error};
  return g_methods;
}
