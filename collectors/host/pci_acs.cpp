#include "collectors/host/pci_acs.h"

#include <cstdint>

#include "src/base/file.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

// Registers and bits of the PCI Local Bus and PCI Express Base specifications.
//
//   0x00 … 0x3f  header: 0x06 status, 0x34 first capability
//   0x40 … 0xff  capabilities, each: id, offset of the next, …; PCI Express (0x10): type of the port in bits 4 … 7 of 2
//   0x100 …      extended ones, each 32 bits: id, version, offset of the next in the upper 12; ACS (0x000d): control at 6
constexpr std::size_t kStatus = 0x06, kFirstCapability = 0x34, kExtended = 0x100, kWhole = 4096, kHeader = 0x40;
constexpr unsigned kGone = 0xffff, kHasCapabilities = 0x10, kPciExpress = 0x10, kDownstreamPort = 6, kAcs = 0x0d;
constexpr unsigned kRequestRedirect = 0x04, kCompletionRedirect = 0x08;
constexpr int kMostCapabilities = 48, kMostExtended = 480;  // as many as fit: lists of broken devices are circles

unsigned byte_at(std::string_view config, std::size_t at) { return static_cast<unsigned char>(config[at]); }
unsigned word_at(std::string_view config, std::size_t at) {
  return byte_at(config, at) | byte_at(config, at + 1) << 8U;
}

// What kind of port this is; the type of an endpoint is one, too.
AcsPort find_type(std::string_view config, unsigned& type) {
  if ((word_at(config, kStatus) & kHasCapabilities) == 0) return AcsPort::not_a_switch;
  std::size_t at = byte_at(config, kFirstCapability) & 0xfcU;
  for (int i = 0; i < kMostCapabilities && at >= kHeader; ++i) {
    if (at + 4 > config.size()) return AcsPort::unknown;
    if (byte_at(config, at) == kPciExpress) {
      type = word_at(config, at + 2) >> 4U & 0xfU;
      return AcsPort::open;
    }
    at = byte_at(config, at + 1) & 0xfcU;
  }
  return AcsPort::not_a_switch;
}

}  // namespace

AcsPort acs_of(std::string_view config) {
  if (config.size() < kHeader || word_at(config, 0) == kGone) return AcsPort::unknown;
  unsigned type = 0;
  if (const AcsPort kind = find_type(config, type); kind != AcsPort::open) return kind;
  if (type != kDownstreamPort) return AcsPort::not_a_switch;
  if (config.size() < kWhole) return AcsPort::unknown;
  std::size_t at = kExtended;
  for (int i = 0; i < kMostExtended && at >= kExtended && at + 8 <= config.size(); ++i) {
    if (word_at(config, at) == kAcs) {
      const unsigned control = word_at(config, at + 6);
      return (control & (kRequestRedirect | kCompletionRedirect)) != 0 ? AcsPort::redirects : AcsPort::open;
    }
    at = word_at(config, at + 2) >> 4U & 0xffcU;
  }
  return AcsPort::open;  // a port without access control
}

AcsPath acs_above(const fs::path& function) {
  std::error_code error;
  const fs::path start = fs::canonical(function, error);
  if (error) return {};
  AcsPath path{AcsPort::not_a_switch};
  for (fs::path port = start.parent_path(); fs::exists(port / "config", error); port = port.parent_path()) {
    const auto config = read_file(port / "config", kWhole);
    switch (config ? acs_of(*config) : AcsPort::unknown) {
      case AcsPort::redirects:
        return {AcsPort::redirects, port.filename().string()};
      case AcsPort::unknown:
        path.state = AcsPort::unknown;
        break;
      case AcsPort::open:
        if (path.state == AcsPort::not_a_switch) path.state = AcsPort::open;
        break;
      case AcsPort::not_a_switch:
        break;
    }
  }
  return path;
}

}  // namespace gradsync
