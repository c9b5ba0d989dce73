// NCCL's logs, often one a process, say each what one process knows. Here they become one answer a fact: equal answers
// once, different ones as "mixed: a, b", and what carries data between nodes, which needs two of them.
#include <algorithm>
#include <charconv>
#include <set>

#include "analyzers/analyzers.h"
#include "src/base/text.h"

namespace gradsync {
namespace {

// Facts of several files stand behind each other with "; ", those of one file with ", ".
std::set<std::string> values(const Facts& facts, const std::string& key) {
  std::set<std::string> found;
  const auto fact = facts.find(key);
  if (fact == facts.end()) return found;
  std::string_view rest = fact->second;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(";,");
    const std::string_view one = trim(rest.substr(0, end));
    if (!one.empty() && !one.starts_with("and ")) found.emplace(one);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return found;
}

std::string one_answer(const std::set<std::string>& answers) {
  const std::string all = join({answers.begin(), answers.end()}, ", ");
  return answers.size() > 1 ? "mixed: " + all : all;
}

std::int64_t largest(const std::set<std::string>& numbers) {
  std::int64_t most = 0;
  for (const std::string& text : numbers) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    most = std::max(most, value);
  }
  return most;
}

class NcclTransport final : public Analyzer {
 public:
  std::string_view name() const override { return "nccl_transport"; }
  void summarise(const RankTimeline&, const Inputs&, Summary&) const override {}
  void conclude(const Summary&, const Inputs& inputs, Conclusions& conclusions) const override {
    for (const char* const key : {"nccl.version", "nccl.library", "nccl.gdrdma", "nccl.rdma_device"})
      if (const std::string answer = one_answer(values(inputs.facts, key)); !answer.empty())
        conclusions.facts[key] = answer;
    for (const char* const key : {"nccl.transport", "nccl.hosts", "nccl.interfaces", "nccl.network"})
      if (const std::set<std::string> all = values(inputs.facts, key); !all.empty() && all.size() <= 16)
        conclusions.facts[key] = join({all.begin(), all.end()}, ", ");
    const auto first = inputs.facts.lower_bound("nccl.");
    const bool told = first != inputs.facts.end() && first->first.starts_with("nccl.");
    if (told && !inputs.facts.contains("backend")) conclusions.facts.try_emplace("backend", "nccl");
    const std::set<std::string> networks = values(inputs.facts, "nccl.network");
    const std::int64_t nodes = largest(values(inputs.facts, "nccl.nodes"));
    const std::size_t hosts = values(inputs.facts, "nccl.hosts").size();
    // One host that speaks does not mean one node: the log may be that of one process.
    if ((nodes > 1 || hosts > 1) && !networks.empty())
      conclusions.facts["nccl.between_nodes"] = one_answer(networks);
    else if (nodes == 1 && hosts <= 1)
      conclusions.facts["nccl.between_nodes"] = "one node";
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_nccl_transport() { return std::make_unique<NcclTransport>(); }

}  // namespace gradsync
