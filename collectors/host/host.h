// What the host did to the job: its threads' share of the CPUs, interrupts, network interfaces, and what the machine is.
// Everything is read below a root path, so that a copied tree can be looked at as well.
#pragma once

#include <memory>

#include "src/model/collector.h"

namespace gradsync {

// Tier A, by eBPF, or B, from perf rings: waits of the job's threads, as series and as events for the join. Needs root.
std::unique_ptr<Collector> make_sched_trace();

// The same where it is allowed, else preemption waits of the job's own threads, which need no privilege.
std::unique_ptr<Collector> make_sched_tiers();

// Tier C, from /proc alone, once a second or more seldom: the series `sched`, `irq` and `host`.
std::unique_ptr<Collector> make_proc_sampler();

// Copies between user and kernel memory, by sampling all CPUs: the series `usercopy` and events for the join. Needs root.
std::unique_ptr<Collector> make_copy_sampler();

// Counters of network interfaces, RDMA ports and TCP, once a second: the series `nic` and `nic_samples`.
std::unique_ptr<Collector> make_nic_sampler();

// State of NVIDIA GPUs through NVML, once a second: the series `gpu` and `gpu_samples`.
std::unique_ptr<Collector> make_gpu_sampler();

// Devices, links, NUMA nodes, governor, owners of interrupts: the series `topology` and facts.
std::unique_ptr<Collector> make_topology();

}  // namespace gradsync
