// check: what can be measured here, what cannot, why, and the command that would enable it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "collectors/attach/attach.h"
#include "collectors/host/pmu_group.h"
#include "collectors/host/topology.h"
#include "src/base/quiet_process.h"
#include "src/base/text.h"
#include "src/commands/collectors.h"
#include "src/commands/command.h"
#include "src/commands/exit_status.h"
#include "src/commands/install_paths.h"
#include "src/commands/irq_places.h"
#include "src/commands/irq_report.h"
#include "src/commands/output.h"
#include "src/commands/root_options.h"
#include "src/model/series_table.h"

namespace gradsync {
namespace {

class CheckCommand final : public Command {
 public:
  std::string name() const override { return "check"; }
  std::string summary() const override { return "what can be measured here, what cannot, and what would enable it"; }

  void declare(CLI::App& app) override {
    app.add_option("--python", python_, "the interpreter that the job will use")->type_name("PROGRAM");
    declare_roots(app, roots_);
    app.add_option("--json", json_, "write the result as a report document to FILE; - is standard output")
        ->type_name("FILE");
  }

  int run() override {
    const InstallPaths paths = find_install_paths();
    CollectorContext context;
    context.library = paths.library;
    context.torch_shim = paths.torch_shim;
    context.recording = "/nonexistent";
    context.command_line = {python_};
    Report report;
    report.command = "check";
    const IrqRoots roots = roots_.roots();
    if (roots.live()) {
      for (const auto& collector : all_collectors())
        for (Coverage& coverage : collector->probe(context)) report.coverage.push_back(std::move(coverage));
      report.coverage.push_back(pmu_coverage());
      report.coverage.push_back(interpreter());
    }
    for (Coverage& coverage : irq_coverage(roots, kJournalFolder)) report.coverage.push_back(std::move(coverage));
    if (!roots.live())  // a copy is not changed
      std::erase_if(report.coverage, [](const Coverage& entry) { return entry.source == "moving of interrupts"; });
    if (roots.live())
      for (const auto& gpu : {make_cupti_attach, make_gpu_counters_attach})
        for (Coverage& coverage : gpu()->probe(context)) report.coverage.push_back(std::move(coverage));
    add_machine(roots, report);
    if (!json_.empty()) {
      OutputOptions output;
      output.json = json_;
      if (const Result<void> shown = show_report(report, output); !shown) return print_error(shown.error());
      if (json_ == "-") return exit_status::kDone;
    }
    for (const Coverage& coverage : report.coverage) print(coverage);
    for (const SeriesRow& device : rows_of(report, "topology")) print_device(device);
    for (const auto& [name, value] : report.facts)
      fmt::print("{:<12} {}: {}\n", "machine", name, escape_controls(value));
    return exit_status::kDone;
  }

 private:
  // What the machine is: of a copy of its files that is all that can be told, beside its interrupts.
  static void add_machine(const IrqRoots& roots, Report& report) {
    Topology topology = read_topology(roots);
    if (roots.live())
      if (const auto gpus = read_nvml()) add_nvml(*gpus, topology);
    RecordingParts parts;
    add_topology_parts(topology, parts);
    report.facts = std::move(parts.facts);
    report.series = std::move(parts.series);
    if (const Result<IrqSnapshot> irqs = read_irq_snapshot(roots))
      if (std::string places = numa_text(*irqs); !places.empty()) report.facts["irq.numa"] = std::move(places);
    if (roots.live()) return;
    const bool found = !report.facts.empty() || !report.series.empty();
    report.coverage.push_back({"topology", "", found ? CoverageState::collected : CoverageState::unavailable,
                               found ? "" : "no device, CPU or node below " + roots.sys.string(), "", 0});
  }

  // Can the interpreter start, and does it have torch? Found without importing it.
  Coverage interpreter() const {
    Coverage coverage{"PyTorch of " + python_, "", CoverageState::collected, "", "", 0};
    const char* path = std::getenv("PATH");
    const std::string outcome =
        run_quietly({{python_, "-c", "import importlib.util as u, sys; sys.exit(0 if u.find_spec('torch') else 9)"},
                     {{"PATH", path == nullptr ? "/usr/bin:/bin" : path}}});
    if (outcome.empty()) return coverage;
    coverage.state = CoverageState::unavailable;
    coverage.reason = outcome.ends_with(" 9") ? "it has no torch: its jobs are seen only through NVTX" : outcome;
    coverage.hint = "name the job's interpreter with --python";
    return coverage;
  }

  static void print(const Coverage& coverage) {
    fmt::print("{:<12} {}", to_string(coverage.state), coverage.source);
    if (!coverage.reason.empty()) fmt::print(": {}", coverage.reason);
    fmt::print("\n");
    if (!coverage.hint.empty()) fmt::print("{:<12}   try: {}\n", "", coverage.hint);
  }

  // "device       nic eth0 0000:1b:00.0: node 1, 16 lanes of 16 at 8 GT/s of 16, 25000 Mb/s, up"
  static void print_device(const SeriesRow& row) {
    const auto number = [&](const char* column) {
      const auto value = row.number(column);
      return value ? fmt::format("{:g}", *value) : std::string("?");
    };
    const std::string name = row.text("device"), address = row.text("address");
    std::vector<std::string> words{row.number("numa_node") ? "node " + number("numa_node") : "node not known"};
    if (row.number("lanes") || row.number("max_lanes"))
      words.push_back(fmt::format("{} lanes of {} at {} GT/s of {}", number("lanes"), number("max_lanes"),
                                  number("link_gts"), number("max_link_gts")));
    if (row.number("nvlinks"))
      words.push_back(fmt::format("{} of {} NVLinks up", number("nvlinks_active"), number("nvlinks")));
    for (const char* column : {"port", "model"})
      if (std::string text = row.text(column); !text.empty()) words.push_back(std::move(text));
    fmt::print("{:<12} {} {}{}: {}\n", "device", row.text("kind"), escape_controls(name),
               address.empty() || address == name ? "" : " " + address, escape_controls(join(words, ", ")));
  }

  std::string python_ = "python3", json_;
  RootOptions roots_;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace gradsync
