// Access control of PCIe switches (ACS): a port that redirects sends what its devices write to each other up to the root
// complex, whatever lies between them. Told by the ports' configuration space, which root alone may read in full.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace gradsync {

enum class AcsPort { unknown, not_a_switch, open, redirects };

// Of the bytes of a port's configuration space. unknown: they end before the answer.
AcsPort acs_of(std::string_view config);

// The way from a function to its root port. unknown: a port on it could not be read, and none that was redirects.
struct AcsPath {
  AcsPort state = AcsPort::unknown;  // not_a_switch: no switch on the way
  std::string port = {};             // address of one that redirects
};

// `function`: a folder of /sys/bus/pci/devices, or where it leads to.
AcsPath acs_above(const std::filesystem::path& function);

}  // namespace gradsync
