// What a plug-in with a backend exports, by C names. Loaded with dlopen and never unloaded: its library has threads.
//
//   const char*              gsd_fabric_plugin_version()   version of the program it was built with; others are refused
//   gradsync::FabricBackend* gsd_fabric_backend()          a new one; the caller owns it. nullptr: no memory
#pragma once

namespace gradsync {

class FabricBackend;

inline constexpr const char* kPluginVersionName = "gsd_fabric_plugin_version";
inline constexpr const char* kPluginBackendName = "gsd_fabric_backend";
using PluginVersionFunction = const char* (*)();
using PluginBackendFunction = FabricBackend* (*)();

}  // namespace gradsync
