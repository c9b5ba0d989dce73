// What options a program has, from rules/commands/*.toml: their spellings, the values that they take, since which version,
// and mistakes that are known. And reading a command line by it. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/diagnosis/rule_set.h"
#include "src/model/report.h"

namespace gradsync {

enum class Takes { nothing, truth, text, number, one_of, list };

struct KnownOption {
  std::string name;                // as it is best written: "--trace", "-b"
  std::vector<std::string> spelt;  // others: "-t"
  Takes takes = Takes::text;
  std::vector<std::string> values;           // of one_of and list; a value may go on behind ":" or "["
  std::map<std::string, std::string> since;  // value → version that brought it; "" is the option itself
};

// Something that people write and that does not do what they mean.
struct KnownMistake {
  std::string option, value, variable, event;  // what it is about; value alone: any option, event: of perf -e
  Severity severity = Severity::error;
  std::string says;
  std::string instead;           // the right value, or the right option when there is no value
  std::vector<std::string> add;  // options to add
};

struct OptionTable {
  std::string program, source;
  std::vector<KnownOption> options;
  std::vector<KnownMistake> mistakes;

  const KnownOption* find(std::string_view spelt) const;
  const KnownMistake* mistake(std::string_view option, std::string_view value) const;
  // The known spelling that takes the fewest changes to reach; nothing when that is more than a third of it.
  std::optional<std::string> nearest(std::string_view spelt) const;
};

// rules/commands/*.toml as they were when the program was built.
const std::vector<RuleFile>& builtin_command_tables();

// `name` is the file without its ending: "nsys", "nccl_tests", "perf_sched".
Result<OptionTable> option_table(std::string_view name);
Result<OptionTable> parse_option_table(const RuleFile& file);

struct GivenOption {
  std::string spelt;  // as it was written, without its value
  const KnownOption* known = nullptr;
  std::optional<std::string> value;
  bool glued = false;  // "--duration60"
};

struct GivenOptions {
  std::vector<GivenOption> options;
  std::vector<std::string> rest;  // from the first word on that is no option: a program, or what was left over
};

enum class Operands { end_the_options, may_stand_between };

// Reads words by the table. A long option takes its value behind "=" or as the next word, a short one also glued.
GivenOptions read_options(const OptionTable& table, const std::vector<std::string>& words, Operands operands);

}  // namespace gradsync
