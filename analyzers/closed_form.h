// Costs of collectives by their closed forms: for fabrics and rank counts that nobody measured. Times in µs, bandwidth in
// bytes per µs, messages in bytes. Pure.
//
// A ring of N ranks costs N-1 hops a round; its bandwidth is that of one link, between nodes of one node's network.
#pragma once

#include <string>

#include "src/model/inputs.h"

namespace gradsync {

struct Links {
  double hop_us = 0;       // start-up of one hop
  double us_per_byte = 0;  // of the slowest link
};

// 2(N-1) a + 2(N-1)/N S/B
double ring_all_reduce_us(const Links& links, double bytes, double ranks);
// Two nodes: the tree sends each byte once; without its start-up terms.
double two_node_tree_us(const Links& links, double bytes);
// Each rank hands in `bytes`: (N-1) a + (N-1) m/B
double all_gather_us(const Links& links, double bytes, double ranks);
// All-to-all of G ranks that share a node's network, then an all-gather of the sums:
//   (N-1) a + G (N-G)/N m/B  +  (N-1) a + (N-1)/N m/B
double all_to_all_and_gather_us(const Links& links, double bytes, double ranks, double ranks_per_node);

// The ranks up to which gathering `entry_bytes` for a share `density` of the elements moves fewer bytes than an
// all-reduce of `element_bytes` each: 2e / (density × entry bytes).
double break_even_ranks(double element_bytes, double density, double entry_bytes);

// The links that explain a measured segment of an all-reduce or all-gather (whole vector) by a ring of `ranks`.
Links links_of_all_reduce(const FabricSegment& segment, double ranks);
Links links_of_all_gather(const FabricSegment& segment, double ranks);

}  // namespace gradsync
