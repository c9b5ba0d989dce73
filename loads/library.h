// LoadLibrary: the loads of one device and what measures them there. The program knows no other way to them: a library
// is a plug-in (src/base/plugin.h), because Highway measures a clock whenever a program that links it starts, and other
// devices need run-times that most machines do not have.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loads/bandwidth.h"
#include "loads/verify.h"

namespace gradsync {

class LoadLibrary {
 public:
  virtual ~LoadLibrary() = default;
  virtual std::string device() const = 0;           // cpu: the <device> of load.<algorithm>.<device>.ms
  virtual std::string instruction_set() const = 0;  // "AVX3_ZEN4", "NVIDIA H200", …: what runs here
  // Error: why nothing can run here: the library, driver or device that is missing. What follows asks for no less.
  virtual Result<void> ready() const = 0;
  // Of the largest cache: what is not much larger is not limited by memory. 0: not known.
  virtual std::int64_t cache_bytes() const = 0;
  // In the order in which tables show them. Error feedback is already around those that are asked for it.
  virtual const std::vector<LoadEntry>& loads() const = 0;
  virtual std::vector<Check> verify(const MakeLoad& make, const LoadOptions& options) const = 0;
  // May throw std::bad_alloc, and std::runtime_error where the device fails; so may loads, once they are prepared.
  virtual std::unique_ptr<BandwidthProbe> bandwidth(std::int64_t elements, int threads) const = 0;
};

// What a plug-in with loads exports: the one library that it holds.
inline constexpr const char* kLoadLibraryName = "gsd_load_library";
using LoadLibraryFunction = const LoadLibrary* (*)();

// For what links the loads: the plug-in itself, and tests.
const LoadLibrary& cpu_load_library();
const std::vector<LoadEntry>& cpu_loads();

}  // namespace gradsync
