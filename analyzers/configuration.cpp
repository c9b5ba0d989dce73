// How the job was set up, as far as it bears on synchronisation: variables of its environment, arguments of its wrapper,
// which device each rank took, and how often a step synchronises. A setting by itself is never a fault: rules join it
// with what was measured.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "analyzers/analyzers.h"
#include "analyzers/rows.h"
#include "src/base/text.h"
#include "src/timeline/rank_timeline.h"

namespace gradsync {
namespace {

// The Python side looks at the same (collectors/torch/gradsync_hook/settings.py).
constexpr std::array<std::string_view, 13> kVariables{
    "nccl_ib_disable", "nccl_socket_ifname",   "gloo_socket_ifname",      "nccl_ib_gid_index", "nccl_net_gdr_level",
    "nccl_algo",       "nccl_proto",           "nccl_p2p_disable",        "nccl_shm_disable",  "nccl_ib_hca",
    "nccl_ib_tc",      "cuda_launch_blocking", "torch_nccl_blocking_wait"};
constexpr std::array<std::string_view, 7> kArguments{
    "ddp.find_unused_parameters", "ddp.static_graph", "ddp.gradient_as_bucket_view", "ddp.count", "extensions.stale",
    "extensions.stale.names",     "env.files"};
constexpr std::string_view kBackwards = "backwards", kDdp = "ddp";

using Answers = std::map<std::int64_t, std::map<std::string, std::string>>;  // by rank

Answers answers_of(const Summary& all) {
  Answers answers;
  if (const Series* table = all.find("rank_facts"))
    for (const auto& row : table->rows)
      answers[std::get<std::int64_t>(row[0])][std::get<std::string>(row[1])] = std::get<std::string>(row[2]);
  return answers;
}

std::string joined(const std::set<std::string>& values) {
  const std::string list = join({values.begin(), values.end()}, ", ");
  return values.size() > 1 ? "mixed: " + list : list;
}

// What every rank that told its environment says of a variable; "unset" where it does not have it.
void add_variables(const Answers& answers, Facts& facts) {
  for (const std::string_view name : kVariables) {
    const std::string key = "env." + std::string(name);
    std::set<std::string> values;
    for (const auto& [rank, told] : answers) {
      if (!told.contains("env.seen")) continue;
      const auto found = told.find(key);
      values.insert(found == told.end() || found->second.empty() ? "unset" : found->second);
    }
    if (!values.empty()) facts[key] = joined(values);
  }
}

void add_arguments(const Answers& answers, Facts& facts) {
  for (const std::string_view key : kArguments) {
    std::set<std::string> values;
    for (const auto& [rank, told] : answers)
      if (const auto found = told.find(std::string(key)); found != told.end()) values.insert(found->second);
    if (!values.empty()) facts[std::string(key)] = joined(values);
  }
}

bool begins_with_any(std::string_view name, std::initializer_list<std::string_view> stems) {
  return std::any_of(stems.begin(), stems.end(), [name](std::string_view stem) { return name.starts_with(stem); });
}

// Of a list such as "eth0,lo" or "=ib0"; "^docker" names what is left out.
std::string interface_kind(std::string_view list) {
  if (list == "unset") return "unset";
  if (list.starts_with("mixed: ")) return "differs";
  if (list.starts_with('^')) return "chosen";
  if (list.starts_with('=')) list.remove_prefix(1);
  if (list == "lo" || list.starts_with("lo,")) return "loopback";
  if (begins_with_any(list, {"docker", "br-", "veth", "virbr", "cni", "flannel", "cali", "tun", "tap"}))
    return "virtual";
  return "chosen";
}

void add_interface_kind(Facts& facts) {
  const auto nccl = facts.find("env.nccl_socket_ifname"), gloo = facts.find("env.gloo_socket_ifname");
  if (nccl == facts.end() || gloo == facts.end()) return;
  const auto backend = facts.find("backend");
  const bool by_gloo = backend != facts.end() && backend->second == "gloo";
  facts["configuration.socket_interface"] = interface_kind(by_gloo ? gloo->second : nccl->second);
}

// Values such as "^LL" or "allreduce:ring" count as well: each takes something from what NCCL would choose.
void add_nccl_choice(Facts& facts) {
  const auto algorithm = facts.find("env.nccl_algo"), protocol = facts.find("env.nccl_proto");
  if (algorithm == facts.end() || protocol == facts.end()) return;
  const bool own = algorithm->second == "unset" && protocol->second == "unset";
  facts["configuration.nccl_choice"] = own ? "NCCL's" : "fixed";
}

// Two ranks of one host on one device: the same place in the same list of visible devices.
void add_shared_devices(const Answers& answers, const Summary& all, MetricSet& metrics) {
  std::map<std::int64_t, std::string> hosts;
  if (const Series* ends = all.find("rank_ends"))
    for (const auto& row : ends->rows) hosts[std::get<std::int64_t>(row[0])] = std::get<std::string>(row[1]);
  std::map<std::string, std::int64_t> owners;
  std::int64_t told_by = 0, sharing = 0;
  for (const auto& [rank, told] : answers) {
    const auto device = told.find("device.visible");
    if (device == told.end()) continue;
    ++told_by;
    sharing += owners[hosts[rank] + '\n' + device->second]++ > 0;
  }
  if (told_by > 1)
    add_value(metrics, "run.ranks_sharing_device", "all", static_cast<double>(sharing), told_by, "torch_hook");
}

void add_hosts(const Summary& all, MetricSet& metrics) {
  std::set<std::string> hosts;
  const Series* ends = all.find("rank_ends");
  if (ends == nullptr) return;
  for (const auto& row : ends->rows)
    if (const std::string& host = std::get<std::string>(row[1]); !host.empty()) hosts.insert(host);
  if (!hosts.empty())
    add_value(metrics, "run.hosts", "all", static_cast<double>(hosts.size()),
              static_cast<std::int64_t>(ends->rows.size()), "spool");
}

void add_largest_bucket(const Facts& facts, MetricSet& metrics) {
  const auto list = facts.find("ddp.bucket_bytes");
  if (list == facts.end() || list->second.starts_with("mixed")) return;
  double largest = 0, sum = 0;
  std::int64_t count = 0;
  for (std::string_view rest = list->second; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view one = trim(rest.substr(0, end));
    double bytes = 0;
    std::from_chars(one.data(), one.data() + one.size(), bytes);
    largest = std::max(largest, bytes);
    sum += bytes;
    ++count;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (largest <= 0) return;
  add_value(metrics, "ddp.largest_bucket_bytes", "all", largest, count, "torch_hook");
  add_value(metrics, "ddp.largest_bucket_percent", "all", 100 * largest / sum, count, "torch_hook");
}

class ConfigurationAnalyzer final : public Analyzer {
 public:
  std::string_view name() const override { return "configuration"; }

  // Backward calls of each counted step, and forwards inside no_sync(), whose backward sends nothing.
  void summarise(const RankTimeline& rank, const Inputs&, Summary& summary) const override {
    if (rank.fact("framework") != kDdp) return;
    Series& table = summary.table(kBackwards, {"rank", "step", "backwards", "unsynchronised"});
    for (const StepSpan& step : rank.steps) {
      if (!step.counted()) continue;
      std::int64_t backwards = 0, unsynchronised = 0;
      const RankTimeline::Range range = rank.beginning_in(step.interval());
      for (std::size_t i = range.first; i < range.last; ++i) {
        const Event& event = rank.events[i];
        if (event.kind != Kind::range || event.source != Source::torch_hook) continue;
        backwards += event.phase == Phase::backward;
        unsynchronised += event.phase == Phase::forward && rank.integer(event, "ddp_sync") == 0;
      }
      table.rows.push_back({std::int64_t{rank.rank}, step.number, backwards, unsynchronised});
    }
  }

  void conclude(const Summary& all, const Inputs&, Conclusions& conclusions) const override {
    const Answers answers = answers_of(all);
    add_variables(answers, conclusions.facts);
    add_arguments(answers, conclusions.facts);
    add_interface_kind(conclusions.facts);
    add_nccl_choice(conclusions.facts);
    add_shared_devices(answers, all, conclusions.metrics);
    add_hosts(all, conclusions.metrics);
    add_largest_bucket(conclusions.facts, conclusions.metrics);
    add_backwards(all, conclusions.metrics);
  }

 private:
  static void add_backwards(const Summary& all, MetricSet& metrics) {
    const Series* table = all.find(kBackwards);
    if (table == nullptr) return;
    StepMeans backwards, synchronised;
    for (const auto& row : table->rows) {
      const auto cell = [&row](std::size_t i) { return std::get<std::int64_t>(row[i]); };
      if (cell(2) == 0) continue;  // not seen, which is not none
      backwards.add(cell(1), static_cast<double>(cell(2)));
      synchronised.add(cell(1), static_cast<double>(std::max<std::int64_t>(0, cell(2) - cell(3))));
    }
    if (backwards.sample().size() < kFewestSteps) return;
    add_sample(metrics, "ddp.backwards_per_step", "all", backwards.sample(), "torch_hook");
    add_sample(metrics, "ddp.synchronised_backwards_per_step", "all", synchronised.sample(), "torch_hook");
  }
};

}  // namespace

std::unique_ptr<Analyzer> make_configuration() { return std::make_unique<ConfigurationAnalyzer>(); }

}  // namespace gradsync
