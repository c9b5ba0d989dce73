// When a step's gradients are together, bucket by bucket: the exact recursion of a framework that sends each bucket as
// soon as it is full and all earlier ones were sent. Pure; any one unit of time.
//
//   plain   s_i = max(r_i, f_{i-1})     f_i = s_i + T_i                           sync = max(backward, f_k)
//   hook    r'_i = r_i + Σ_{j≤i} c_j + Σ_{j<i} h_j    g_i = max(f_i, g_{i-1}) + d_i    sync = max(backward + Σ c + Σ h, g_k)
//
// Compression runs where backward runs and delays it; decoding runs beside it, in order. Times are those of the clock
// that communication has slowed down: the last bucket is ready when backward ends.
#pragma once

#include <span>

namespace gradsync {

struct BucketTimes {
  double ready = 0;  // from the start of backward, without compression
  double compress = 0, decompress = 0;
  double starve = 0;    // the device has nothing to do because the hook made the host wait
  double transfer = 0;  // of what is sent
};

struct SyncTimes {
  double sync = 0;     // from the start of backward until all gradients are there
  double exposed = 0;  // of it, what is not backward itself
};

// Buckets in launch order.
SyncTimes bucket_recursion(std::span<const BucketTimes> buckets, double backward);

// Compression inside the optimiser step: nothing overlaps. `dense_exposed`: of the framework's own all-reduce, where it
// still runs.
SyncTimes serial_sync(std::span<const BucketTimes> buckets, double backward, double dense_exposed);

// The bandwidth (bytes per unit of time) below which compression pays when nothing overlaps: what it saves on the
// bottleneck link over what coding and additional start-ups cost. Infinite where they cost nothing.
double break_even_bandwidth(double dense_bytes, double compressed_bytes, double coding, double more_startup);

// Two levels: scattered inside the node in half precision, compressed between nodes, gathered inside the node. Each GPU
// owns 1/G of the vector, so that the G flows between nodes add up to one message. Parts: intra-node reduce-scatter and
// all-gather of S16 bytes by rings of G, an all-gather of m/G bytes between M nodes on G flows that share the node's link.
struct TwoLevel {
  double ranks_per_node = 1, nodes = 1;
  double intra_hop = 0, intra_per_byte = 0, inter_hop = 0, inter_per_byte = 0;
};
double two_level_time(const TwoLevel& fabric, double half_precision_bytes, double message_bytes, double coding);

}  // namespace gradsync
