#include "collectors/host/nic_sampler.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <set>

#include "collectors/host/host.h"
#include "collectors/host/job_tree.h"
#include "collectors/host/proc_sampler.h"
#include "collectors/host/ticker.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/hosttext/numbers.h"
#include "src/hosttext/proc_system.h"

namespace gradsync {
namespace {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostSamples = 600, kMostNamespaces = 64;
constexpr std::uint64_t kWordBytes = 4;  // port_xmit_data counts words of four bytes

// File, common name, and what one unit of it is.
struct Counter {
  const char *file, *name;
  std::uint64_t unit = 1;
};
constexpr Counter kInterface[] = {
    {"rx_bytes", "rx_bytes"},     {"tx_bytes", "tx_bytes"},     {"rx_packets", "rx_packets"},
    {"tx_packets", "tx_packets"}, {"rx_dropped", "rx_dropped"}, {"tx_dropped", "tx_dropped"},
    {"rx_errors", "rx_errors"},   {"tx_errors", "tx_errors"},   {"rx_missed_errors", "missed"},
    {"rx_pause", "rx_pause"},     {"tx_pause", "tx_pause"}};
constexpr Counter kPort[] = {{"port_rcv_data", "rx_bytes", kWordBytes},
                             {"port_xmit_data", "tx_bytes", kWordBytes},
                             {"port_rcv_packets", "rx_packets"},
                             {"port_xmit_packets", "tx_packets"},
                             {"port_xmit_discards", "tx_dropped"},
                             {"port_rcv_errors", "rx_errors"},
                             {"port_xmit_wait", "xmit_wait"}};
constexpr Counter kHardware[] = {{"np_cnp_sent", "cnp_sent"},
                                 {"rp_cnp_handled", "cnp_handled"},
                                 {"out_of_sequence", "out_of_sequence"},
                                 {"packet_seq_err", "packet_seq_err"},
                                 {"rnr_nak_retry_err", "rnr_nak"},
                                 {"rx_pause", "rx_pause"},
                                 {"tx_pause", "tx_pause"}};
// The columns of the series, in order.
constexpr const char* kColumns[] = {"rx_bytes",       "tx_bytes",  "rx_packets",   "tx_packets",  "rx_dropped",
                                    "tx_dropped",     "rx_errors", "tx_errors",    "missed",      "rx_pause",
                                    "tx_pause",       "xmit_wait", "cnp_sent",     "cnp_handled", "out_of_sequence",
                                    "packet_seq_err", "rnr_nak",   "out_segments", "retransmits", "timeouts"};

template <std::size_t N>
void read_counters(const fs::path& folder, const Counter (&wanted)[N], std::map<std::string, std::uint64_t>& into) {
  for (const Counter& counter : wanted) {
    const Result<std::string> text = read_file(folder / counter.file, 256);
    if (!text) continue;  // the device has no such counter
    if (const auto value = parse_unsigned(trim(*text))) into[counter.name] = *value * counter.unit;
  }
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void read_tcp(const fs::path& net, NicCounters& all) {
  const Result<std::string> snmp = read_file(net / "snmp", 1 << 20);
  if (!snmp) return;
  std::map<std::string, std::uint64_t> counters = parse_protocol_counters(*snmp);
  if (const Result<std::string> more = read_file(net / "netstat", 1 << 20))
    counters.merge(parse_protocol_counters(*more));
  for (const auto& [file, name] : {std::pair{"Tcp.OutSegs", "out_segments"},
                                   {"Tcp.RetransSegs", "retransmits"},
                                   {"TcpExt.TCPTimeouts", "timeouts"}})
    if (const auto found = counters.find(file); found != counters.end()) all["tcp"][name] = found->second;
}

class NicCollector final : public Collector {
 public:
  std::string name() const override { return "network interfaces"; }

  std::vector<Coverage> probe(const CollectorContext& context) const override {
    Coverage coverage{name(), "C", CoverageState::collected, "", "", 0};
    if (read_nic_counters(context.root).empty()) {
      coverage.state = CoverageState::unavailable;
      coverage.reason = "no counters below /sys/class/net and /proc/net";
    }
    return {coverage};
  }

  Result<void> start(const CollectorContext& context, Environment&) override {
    sampler_.emplace(context.root, ::getpid());
    sampler_->look(monotonic_now());
    return ticker_.start([this] { sampler_->look(monotonic_now()); }, Ticker::kPause / 2);
  }

  void stop(const CollectorContext&, EventSink&, RecordingParts& parts) override {
    ticker_.stop();
    sampler_->look(monotonic_now());
    sampler_->add_parts(parts);
    parts.facts["host.nic_cpu_percent"] = fmt::format("{:.3f}", ticker_.cpu_percent());
  }

 private:
  std::optional<NicSampler> sampler_;
  Ticker ticker_;
};

}  // namespace

NicCounters read_nic_counters(const fs::path& root) {
  NicCounters all;
  const fs::path net = root / "sys/class/net", rdma = root / "sys/class/infiniband";
  for (const std::string& name : names_in(net)) {
    std::map<std::string, std::uint64_t> counters;
    read_counters(net / name / "statistics", kInterface, counters);
    if (!counters.empty()) all[name] = std::move(counters);
  }
  for (const std::string& device : names_in(rdma))
    for (const std::string& port : names_in(rdma / device / "ports")) {
      std::map<std::string, std::uint64_t> counters;
      read_counters(rdma / device / "ports" / port / "counters", kPort, counters);
      read_counters(rdma / device / "ports" / port / "hw_counters", kHardware, counters);
      read_counters(rdma / device / "hw_counters", kHardware, counters);
      if (!counters.empty()) all[device + "/" + port] = std::move(counters);
    }
  read_tcp(root / "proc/net", all);
  return all;
}

NicCounters read_process_nic_counters(const fs::path& proc, std::int64_t pid) {
  const fs::path net = proc / std::to_string(pid) / "net";
  NicCounters all;
  if (const Result<std::string> text = read_file(net / "dev", 1 << 22)) all = parse_net_dev(*text);
  read_tcp(net, all);
  return all;
}

std::optional<std::uint64_t> net_namespace(const fs::path& proc, const std::string& process) {
  std::error_code error;
  const std::string text = fs::read_symlink(proc / process / "ns/net", error).string();  // net:[4026531840]
  if (error || !text.starts_with("net:[") || !text.ends_with(']')) return std::nullopt;
  return parse_unsigned(std::string_view(text).substr(5, text.size() - 6));
}

NicSampler::NicSampler(fs::path root, std::int64_t ancestor)
    : root_(std::move(root)), ancestor_(ancestor), own_(net_namespace(root_ / "proc", "self")) {}

void NicSampler::add_namespaces(NicCounters& all) {
  if (ancestor_ == 0 || !own_) return;
  std::set<std::uint64_t> known{*own_};
  for (const std::int64_t pid : descendants(root_ / "proc", ancestor_)) {
    const auto space = net_namespace(root_ / "proc", std::to_string(pid));
    if (!space || known.size() > kMostNamespaces || !known.insert(*space).second) continue;
    for (auto& [device, counters] : read_process_nic_counters(root_ / "proc", pid)) {
      const std::string name = fmt::format("{}@{}", device, *space);
      seen_[name].space = space;
      all[name] = std::move(counters);
    }
  }
}

void NicSampler::look(Nanoseconds at) {
  Sample sample{at, read_nic_counters(root_)};
  for (const auto& [device, counters] : sample.counters) seen_[device].space = own_;
  add_namespaces(sample.counters);
  for (const auto& [device, counters] : sample.counters) {
    Seen& seen = seen_[device];
    if (seen.first == 0) seen.first = at;
    seen.last = at;
  }
  if (!samples_.empty())
    for (const auto& [device, counters] : sample.counters) {
      const auto before = samples_.back().counters.find(device);
      if (before == samples_.back().counters.end()) continue;  // new: what it had before is not of this time
      for (const auto& [name, value] : counters) {
        const auto old = before->second.find(name);
        if (old != before->second.end()) grown_[device][name] += value >= old->second ? value - old->second : 0;
      }
    }
  samples_.push_back(std::move(sample));
  if (samples_.size() <= kMostSamples) return;
  std::vector<Sample> thinned;
  for (std::size_t i = 0; i + 1 < samples_.size(); i += 2) thinned.push_back(std::move(samples_[i]));
  thinned.push_back(std::move(samples_.back()));
  samples_ = std::move(thinned);
}

// "eth0,eth1" of a bond, a bridge or a VLAN: what passes through it passes through these as well.
std::string NicSampler::lower_of(const std::string& device) const {
  std::vector<std::string> lower;
  for (const std::string& name : names_in(root_ / "sys/class/net" / device))
    if (name.starts_with("lower_")) lower.push_back(name.substr(6));
  return join(lower, ",");
}

Cell NicSampler::namespace_of(const std::string& device) const {
  const auto& space = seen_.at(device).space;
  return space ? Cell(static_cast<std::int64_t>(*space)) : Cell(kNaN);
}

Series NicSampler::totals() const {
  Series series{"nic", {"machine", "device", "interval_s"}, {}};
  for (const char* column : kColumns) series.columns.emplace_back(column);
  series.columns.insert(series.columns.end(), {"namespace", "lower"});
  for (const auto& [device, counters] : grown_) {
    const Seen& seen = seen_.at(device);
    const double seconds = static_cast<double>(seen.last - seen.first) * 1e-9;
    std::vector<Cell> row{machine_name(), device, seconds};
    for (const char* column : kColumns) {
      const auto found = counters.find(column);
      if (found == counters.end())
        row.emplace_back(kNaN);
      else
        row.emplace_back(static_cast<std::int64_t>(found->second));
    }
    row.push_back(namespace_of(device));
    row.emplace_back(lower_of(device));
    series.rows.push_back(std::move(row));
  }
  return series;
}

// Of devices that carried something.
Series NicSampler::samples() const {
  Series series{"nic_samples", {"machine", "device", "at_ns", "rx_bytes", "tx_bytes", "namespace"}, {}};
  for (const Sample& sample : samples_)
    for (const auto& [device, counters] : sample.counters) {
      const auto grown = grown_.find(device);
      const auto rx = counters.find("rx_bytes"), tx = counters.find("tx_bytes");
      if (grown == grown_.end() || rx == counters.end() || tx == counters.end()) continue;
      if (grown->second.at("rx_bytes") + grown->second.at("tx_bytes") == 0) continue;
      series.rows.push_back({machine_name(), device, std::int64_t{sample.at}, static_cast<std::int64_t>(rx->second),
                             static_cast<std::int64_t>(tx->second), namespace_of(device)});
    }
  return series;
}

void NicSampler::add_parts(RecordingParts& parts) const {
  if (samples_.size() < 2 || grown_.empty()) {
    parts.coverage.push_back({"network interfaces", "C", CoverageState::unavailable,
                              "no counters below /sys/class/net and /proc/net", "", 0});
    return;
  }
  parts.series["nic"] = totals();
  if (Series series = samples(); !series.rows.empty()) parts.series["nic_samples"] = std::move(series);
}

std::unique_ptr<Collector> make_nic_sampler() { return std::make_unique<NicCollector>(); }

}  // namespace gradsync
