// Which rank this process is and where the ranks meet, from the variables of the launcher that started it. Pure.
//
//   torchrun   RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT
//   Open MPI   OMPI_COMM_WORLD_RANK, …_SIZE, …_LOCAL_RANK, …_LOCAL_SIZE
//   MPICH      PMI_RANK PMI_SIZE MPI_LOCALRANKID MPI_LOCALNRANKS
//   Slurm      SLURM_PROCID SLURM_STEP_NUM_TASKS SLURM_LOCALID SLURM_STEP_NODELIST
//
// The first that is there counts: torchrun may run below Slurm, not the other way round. GSD_SWEEP_PORT sets the port.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/model/collector.h"

namespace gradsync {

// Added to MASTER_PORT, where the job's own store listens.
inline constexpr int kPortOffset = 577;

struct LaunchPlace {
  std::string launcher;  // torchrun, Open MPI, MPICH, Slurm
  int rank = 0, ranks = 1, local_rank = 0;
  std::string host;   // of rank 0
  int port = 0;       // of the ranks' store
  std::string token;  // the launcher's name of this job; empty: it has none
};

// Error: no launcher, one rank alone, a variable that is missing or no number, an unknown host of rank 0.
Result<LaunchPlace> place_from(const Environment& environment);

// The first host of Slurm's list: "gpu[03-04,9],cpu1" → "gpu03"; empty where there is none.
std::string first_host(std::string_view list);

Error one_rank_is_no_fabric();

}  // namespace gradsync
