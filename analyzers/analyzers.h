// One factory per analyzer; src/commands/analyzers.cpp lists them in the order in which they conclude.
#pragma once

#include <memory>

#include "src/model/analyzer.h"

namespace gradsync {

std::unique_ptr<Analyzer> make_environment();         // facts joined over ranks, who was instrumented, who ended early
std::unique_ptr<Analyzer> make_configuration();       // variables and arguments of the job that bear on synchronisation
std::unique_ptr<Analyzer> make_device_copies();       // copies between device and host after backward began
std::unique_ptr<Analyzer> make_step_pass();           // first half of attribution, messages and straggler
std::unique_ptr<Analyzer> make_lanes();               // two steps for a picture; behind step_pass
std::unique_ptr<Analyzer> make_attribution();         // every nanosecond of the step has one class
std::unique_ptr<Analyzer> make_step_time();           // step time, the series `steps`, inflation by the deep window
std::unique_ptr<Analyzer> make_overlap();             // exposed and overlapped communication and compression
std::unique_ptr<Analyzer> make_messages();            // collectives, bytes, wire ratio, the series `messages`
std::unique_ptr<Analyzer> make_collective_sources();  // who told sizes and device times of collectives
std::unique_ptr<Analyzer> make_device_time();         // busy, idle and overlap of the device over the whole file
std::unique_ptr<Analyzer> make_gpu_counters();        // hardware counters of the kernels that compress
std::unique_ptr<Analyzer> make_kernel_occupancy();    // how much of the device compressing kernels can fill
std::unique_ptr<Analyzer> make_host_sync();           // blocking calls
std::unique_ptr<Analyzer> make_lifecycle();           // when a gradient is ready, compressed, sent
std::unique_ptr<Analyzer> make_straggler();           // who arrives last at the synchronisation
std::unique_ptr<Analyzer> make_observer();            // what watching cost
std::unique_ptr<Analyzer> make_fabric_curve();        // rows, bandwidth and wrong results of size sweeps
std::unique_ptr<Analyzer> make_fabric_fit();          // start-up and price per byte of each operation
std::unique_ptr<Analyzer> make_cliff();               // sizes from which a byte costs more, in one of six answers
std::unique_ptr<Analyzer> make_fabric_plateau();      // what of the link is reached; are these collectives at all
std::unique_ptr<Analyzer> make_overlay();     // what the job sends, laid on the fabric; behind messages and cliff
std::unique_ptr<Analyzer> make_load_speed();  // how well memory is used where payloads are added up
std::unique_ptr<Analyzer> make_break_even();  // which compressor beats a dense all-reduce from where on
std::unique_ptr<Analyzer> make_nccl_choices();
std::unique_ptr<Analyzer> make_nccl_transport();  // what NCCL uses between nodes, joined over its logs
std::unique_ptr<Analyzer> make_irq_pressure();    // rate, time and balance of interrupts
std::unique_ptr<Analyzer> make_measured_by();     // tier, state and loss behind each number of the host
std::unique_ptr<Analyzer> make_nic_pressure();    // bytes per step on the wire, congestion, loss
std::unique_ptr<Analyzer> make_gpu_state();       // clocks, power, errors and neighbours of the job's GPUs
std::unique_ptr<Analyzer> make_host_join();       // exposed communication in which a thread had no CPU
std::unique_ptr<Analyzer> make_user_copy();       // CPU time in copies between user and kernel memory
std::unique_ptr<Analyzer> make_host_pressure();   // stolen time, quotas, pressure of the machine
std::unique_ptr<Analyzer> make_ab();       // what leaving out the communication hook was worth; behind attribution
std::unique_ptr<Analyzer> make_quality();  // what the optimiser received, over windows; behind messages
std::unique_ptr<Analyzer> make_quality_passes();  // of single passes; behind quality
std::unique_ptr<Analyzer> make_sched_delay();     // threads that could run and had no CPU
std::unique_ptr<Analyzer> make_whatif();          // what each remedy would save; behind fabric_fit and straggler
std::unique_ptr<Analyzer> make_fingerprint();     // which exchanges are compressed, by what, and unknown kernels

}  // namespace gradsync
