#include "src/commands/device_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace gradsync {
namespace {

// The text itself when it is no mangled name, or one that was cut.
std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

}  // namespace

void DeviceNames::begin_process(const ProcessInfo& process) {
  streams_.clear();
  casting_ = 0;
  sink_.begin_process(process);
}

NameId DeviceNames::intern(std::string_view text) {
  const NameId id = sink_.intern(text);
  if (text.starts_with("_Z") || text.starts_with("nccl")) texts_.try_emplace(static_cast<std::uint32_t>(id), text);
  return id;
}

const KnownName& DeviceNames::meaning(NameId name) {
  static const KnownName nothing;
  const auto [slot, inserted] = meanings_.try_emplace(static_cast<std::uint32_t>(name), &nothing);
  const auto text = texts_.find(static_cast<std::uint32_t>(name));
  if (inserted && text != texts_.end()) slot->second = &known_.find(demangled(text->second));
  return *slot->second;
}

// As the collector numbers them (collectors/inject/cupti/events.h): the device above the stream.
void DeviceNames::announce_stream(LaneId lane) {
  const std::uint32_t number = static_cast<std::uint32_t>(lane) & ~kStreamLaneBit;
  if (!streams_.try_emplace(number, true).second) return;
  const std::uint32_t device = number >> 16, stream = number & 0xffff;
  const std::string name = "stream " + std::to_string(stream);
  sink_.lane({lane, stream, device == 0 ? name : "device " + std::to_string(device) + " " + name});
}

void DeviceNames::event(const Event& event) {
  if (event.source == Source::cupti && event.on_stream()) announce_stream(event.lane);
  casting_ = 0;
  if (event.source != Source::cupti || event.kind != Kind::kernel) return sink_.event(event);
  const KnownName& known = meaning(event.name);
  Event made = event;
  if (known.id != NameId::none) made.name = known.id;
  if (known.casts) casting_ = event.reference;
  if (known.nccl_operation.empty()) return sink_.event(made);
  made.kind = Kind::collective;
  made.name = known_.id(known.nccl_operation);
  sink_.event(made);
  sink_.attribute(made.reference, sink_.intern("kernel"), known.id);
  if (!known.nccl_reduction.empty())
    sink_.attribute(made.reference, sink_.intern("op"), sink_.intern(known.nccl_reduction));
}

// Importers give the size of a launch for conversions alone, where it stands for the elements.
void DeviceNames::attribute(std::uint64_t event_reference, NameId key, std::int64_t value) {
  sink_.attribute(event_reference, key, value);
  if (casting_ != 0 && event_reference == casting_ && key == sink_.intern("launch_threads"))
    sink_.attribute(event_reference, sink_.intern("threads"), value);
}

}  // namespace gradsync
