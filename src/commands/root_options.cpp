#include "src/commands/root_options.h"

#include <CLI/CLI.hpp>

namespace gradsync {

IrqRoots RootOptions::roots() const {
  IrqRoots roots;
  if (!root.empty()) roots = {std::filesystem::path(root) / "proc", std::filesystem::path(root) / "sys"};
  if (!proc.empty()) roots.proc = proc;
  if (!sys.empty()) roots.sys = sys;
  return roots;
}

void declare_roots(CLI::App& app, RootOptions& options) {
  app.add_option("--root", options.root, "read /proc and /sys below DIR: a copy of another machine's")
      ->type_name("DIR");
  app.add_option("--proc-root", options.proc, "read DIR in place of /proc")->type_name("DIR");
  app.add_option("--sys-root", options.sys, "read DIR in place of /sys")->type_name("DIR");
}

}  // namespace gradsync
