#include "collectors/fabric/place.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "collectors/fabric/store_protocol.h"

namespace gradsync {
namespace {

constexpr int kUsage = 2;
constexpr int kMostPort = 65535;
constexpr int kMostRanks = 65536;

struct Launcher {
  const char* name;
  const char* rank;
  std::vector<const char*> ranks;  // the first that is set
  const char* local_rank;
  const char* local_ranks;  // on this host; as many as ranks: one host, which is the meeting point
  const char* hosts;        // list of hosts, the first has rank 0
  std::vector<const char*> job;
};

const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> kLaunchers = {
      {"torchrun", "RANK", {"WORLD_SIZE"}, "LOCAL_RANK", "LOCAL_WORLD_SIZE", nullptr, {"TORCHELASTIC_RUN_ID"}},
      {"Open MPI",
       "OMPI_COMM_WORLD_RANK",
       {"OMPI_COMM_WORLD_SIZE"},
       "OMPI_COMM_WORLD_LOCAL_RANK",
       "OMPI_COMM_WORLD_LOCAL_SIZE",
       nullptr,
       {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
      {"MPICH", "PMI_RANK", {"PMI_SIZE"}, "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr, {"PMI_JOBID", "PMI_ID"}},
      {"Slurm",
       "SLURM_PROCID",
       {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       "SLURM_LOCALID",
       nullptr,
       "SLURM_STEP_NODELIST",
       {"SLURM_JOB_ID"}}};
  return kLaunchers;
}

std::string value(const Environment& environment, const char* name) {
  if (name == nullptr) return {};
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

Result<int> number(const Environment& environment, const char* name, int least, int most) {
  const std::string text = value(environment, name);
  const auto number = whole_number(text);
  if (!number || *number < least || *number > most)
    return Error{"cannot read the variable", name,
                 text.empty()
                     ? "it is not set"
                     : "\"" + text + "\" is no number from " + std::to_string(least) + " to " + std::to_string(most),
                 "", kUsage};
  return static_cast<int>(*number);
}

// The same in every rank of one job, rarely in two jobs: where no port was given.
int port_of(std::string_view job) {
  constexpr int kFirst = 20000, kPorts = 10000;
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char character : job) hash = (hash ^ static_cast<unsigned char>(character)) * 16777619U;
  return kFirst + static_cast<int>(hash % kPorts);
}

Result<int> meeting_port(const Environment& environment, const std::string& job) {
  if (!value(environment, "GSD_SWEEP_PORT").empty()) return number(environment, "GSD_SWEEP_PORT", 1, kMostPort);
  if (value(environment, "MASTER_PORT").empty()) return port_of(job);
  const Result<int> port = number(environment, "MASTER_PORT", 1, kMostPort);
  if (!port) return port.error();
  return *port + kPortOffset <= kMostPort ? *port + kPortOffset : *port - kPortOffset;
}

Result<std::string> meeting_host(const Environment& environment, const Launcher& launcher, int ranks) {
  if (const std::string named = value(environment, "MASTER_ADDR"); !named.empty()) return named;
  if (value(environment, launcher.local_ranks) == std::to_string(ranks)) return std::string("127.0.0.1");
  if (const std::string first = first_host(value(environment, launcher.hosts)); !first.empty()) return first;
  return Error{"cannot tell where rank 0 is:", launcher.name, "does not say on which host",
               std::string(launcher.name) == "Open MPI" ? "mpirun -x MASTER_ADDR=HOST_OF_RANK_0 …"
                                                        : "set MASTER_ADDR in every rank to the host of rank 0",
               kUsage};
}

Error no_launcher() {
  return Error{"a sweep needs", "two ranks or more", "and no launcher's variables are set here",
               "gradsync-doctor sweep --ranks 2, or the same command below torchrun, mpirun or srun", kUsage};
}

Result<LaunchPlace> place_of(const Environment& environment, const Launcher& launcher) {
  const auto set = std::find_if(launcher.ranks.begin(), launcher.ranks.end(),
                                [&](const char* name) { return !value(environment, name).empty(); });
  const Result<int> ranks =
      number(environment, set == launcher.ranks.end() ? launcher.ranks.front() : *set, 1, kMostRanks);
  if (!ranks) return ranks.error();
  if (*ranks == 1) return one_rank_is_no_fabric();
  const Result<int> rank = number(environment, launcher.rank, 0, *ranks - 1);
  if (!rank) return rank.error();
  LaunchPlace place;
  place.launcher = launcher.name;
  place.rank = *rank;
  place.ranks = *ranks;
  if (!value(environment, launcher.local_rank).empty()) {
    const Result<int> local = number(environment, launcher.local_rank, 0, kMostRanks);
    if (!local) return local.error();
    place.local_rank = *local;
  }
  for (const char* name : launcher.job)
    if (place.token.empty()) place.token = value(environment, name);
  const Result<int> port = meeting_port(environment, place.token + launcher.name);
  if (!port) return port.error();
  place.port = *port;
  Result<std::string> host = meeting_host(environment, launcher, *ranks);
  if (!host) return host.error();
  place.host = std::move(*host);
  return place;
}

}  // namespace

Error one_rank_is_no_fabric() {
  return Error{"a sweep needs", "two ranks or more", "one rank sends nothing over the fabric: its times are of copies",
               "gradsync-doctor sweep --ranks 2, or more processes from the launcher", kUsage};
}

Result<LaunchPlace> place_from(const Environment& environment) {
  for (const Launcher& launcher : launchers()) {
    if (value(environment, launcher.rank).empty()) continue;
    // Slurm sets these in a batch script too, which is one process for all tasks.
    const bool batch = std::string_view(launcher.name) == "Slurm" && value(environment, "SLURM_STEP_ID").empty() &&
                       value(environment, "SLURM_STEP_NODELIST").empty();
    if (batch)
      return Error{"a sweep needs", "two ranks or more", "and this is a batch script's one process",
                   "srun gradsync-doctor sweep …", kUsage};
    return place_of(environment, launcher);
  }
  return no_launcher();
}

std::string first_host(std::string_view list) {
  const std::size_t stop = list.find_first_of(",[");
  std::string host(list.substr(0, stop));
  if (stop == std::string_view::npos || list[stop] == ',') return host;
  const std::size_t close = list.find(']', stop);
  if (close == std::string_view::npos) return {};
  const std::string_view numbers = list.substr(stop + 1, close - stop - 1);
  host += numbers.substr(0, numbers.find_first_of(",-"));
  std::string_view rest = list.substr(close + 1);  // "rack[1-2]-node[1-4]" has more behind
  if (!rest.empty() && rest.front() != ',') host += first_host(rest);
  return host;
}

}  // namespace gradsync
