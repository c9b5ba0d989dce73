#include "src/commands/ab_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "src/base/file.h"
#include "src/commands/exit_status.h"

namespace gradsync {
namespace {

constexpr std::size_t kLongestScript = std::size_t{4} << 20;
constexpr std::array<std::string_view, 4> kWriters{"torch.save(", "save_checkpoint(", "save_pretrained(", "dcp.save("};

// "torch.save in line 87"; empty when nothing is written, or the file cannot be read (the job will say so itself).
std::string writer_in(const std::filesystem::path& script) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(script, error)) return "";
  const Result<std::string> text = read_file(script, kLongestScript);
  if (!text) return "";
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text->size(); ++line) {
    const std::size_t end = std::min(text->find('\n', begin), text->size());
    const std::string_view code = std::string_view(*text).substr(begin, end - begin);
    for (const std::string_view writer : kWriters)
      if (const std::size_t at = code.find(writer); at != std::string_view::npos && at < code.find('#'))
        return std::string(writer.substr(0, writer.size() - 1)) + " in line " + std::to_string(line + 1);
    begin = end + 1;
  }
  return "";
}

}  // namespace

void declare_ab(CLI::App& app, AbOptions& options) {
  CLI::Option* ab = app.add_flag("--ab", options.wanted,
                                 "measure what compression costs: leave the communication hook out in some blocks of "
                                 "steps (changes the training)");
  app.add_option("--ab-with", options.with, "what runs in its place: dense all-reduce or fp16")
      ->check(CLI::IsMember({"dense", "fp16"}))
      ->needs(ab)
      ->type_name("SYNC");
  app.add_flag("--yes", options.yes, "--ab also in a job that writes checkpoints")->needs(ab);
  app.add_flag("--quality", options.quality,
               "measure what compression does to the gradient: an all-reduce of some 32 KiB every 16 steps")
      ->excludes(ab);
}

Result<void> may_change_training(const AbOptions& options, const std::vector<std::string>& command_line) {
  if (!options.wanted || options.yes) return {};
  for (const std::string& word : command_line) {
    const std::string writer = word.ends_with(".py") ? writer_in(word) : "";
    if (!writer.empty())
      return Error{"--ab changes the training", word, "it writes checkpoints: " + writer,
                   "--yes, where they may come of an experiment", exit_status::kUsage};
  }
  return {};
}

std::map<std::string, std::string> collector_options(const AbOptions& options) {
  if (options.quality) return {{"quality", "budget=1"}};
  if (!options.wanted) return {};
  std::map<std::string, std::string> chosen{{"ab", "with=" + options.with}};
  if (options.yes) chosen["ab-yes"] = "1";
  return chosen;
}

}  // namespace gradsync
