// run --ab, --ab-with, --yes: the measured counterfactual, which changes the training and is therefore asked for; and
// --quality, which costs collectives of its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace CLI {
class App;
}

namespace gradsync {

struct AbOptions {
  bool wanted = false;
  std::string with = "dense";  // what takes the hook's place: dense, fp16
  bool yes = false;            // checkpoints may hold the experiment's traces
  bool quality = false;        // --quality: reads gradients and changes nothing; not together with the experiment
};

void declare_ab(CLI::App& app, AbOptions& options);

// Error (wrong usage): the job's own Python files name a call that writes checkpoints, and nobody said --yes. Looks at
// the regular files ….py among the words of the command line; what a job imports is watched while it runs.
Result<void> may_change_training(const AbOptions& options, const std::vector<std::string>& command_line);

// What the torch collector goes by (CollectorContext::options); empty without --ab and --quality.
std::map<std::string, std::string> collector_options(const AbOptions& options);

}  // namespace gradsync
