// Where the parts that go into the job are: beside the program in the build tree, under ../lib when installed.
#pragma once

#include <filesystem>

namespace gradsync {

struct InstallPaths {
  std::filesystem::path library;     // libgradsync_inject.so, absolute
  std::filesystem::path torch_shim;  // folder with sitecustomize.py, absolute
  std::filesystem::path plugins;     // folder with libgradsync_loads.so and libgradsync_gloo.so, absolute
};

// GSD_LIBRARY_PATH, GSD_TORCH_SHIM and GSD_PLUGIN_PATH override (tests). A part that is missing keeps its expected path: its collector
// says so as coverage.
InstallPaths find_install_paths();

}  // namespace gradsync
