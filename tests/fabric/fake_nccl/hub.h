// The hub: a thread in the process that made the unique id, through which all bytes go. It holds what each rank asks
// until all that it needs is there, checks NCCL's contract, and answers; rank 0 last, because the hub ends with it.
//
//   collectives       all ranks, in the same order, with the same call, count, type, reduction and root
//   sends, receives   matched in order between each pair, with the same count and type; when all ranks wait and nothing
//                     matches, a group was missing
//
// A violation is answered to all with ncclInvalidUsage and a sentence.
#pragma once

#include <string>

namespace fake {

// Listens at a name of its own, and serves one communicator. Gives that name; empty: no socket.
std::string start_hub();
int connect_to_hub(const std::string& name);  // -1: nobody is there

}  // namespace fake
