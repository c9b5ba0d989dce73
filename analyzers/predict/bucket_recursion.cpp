#include "analyzers/predict/bucket_recursion.h"

#include <algorithm>
#include <limits>

namespace gradsync {

SyncTimes bucket_recursion(std::span<const BucketTimes> buckets, double backward) {
  double delay = 0, sent = 0, decoded = 0;
  for (const BucketTimes& bucket : buckets) {
    delay += bucket.compress;
    const double start = std::max(bucket.ready + delay, sent);
    delay += bucket.starve;
    sent = start + bucket.transfer;
    decoded = std::max(sent, decoded) + bucket.decompress;
  }
  const double sync = std::max(backward + delay, decoded);
  return {sync, sync - backward};
}

SyncTimes serial_sync(std::span<const BucketTimes> buckets, double backward, double dense_exposed) {
  double exposed = dense_exposed;
  for (const BucketTimes& bucket : buckets)
    exposed += bucket.compress + bucket.starve + bucket.transfer + bucket.decompress;
  return {backward + exposed, exposed};
}

double break_even_bandwidth(double dense_bytes, double compressed_bytes, double coding, double more_startup) {
  const double costs = coding + more_startup;
  if (costs <= 0) return std::numeric_limits<double>::infinity();
  return std::max(0.0, dense_bytes - compressed_bytes) / costs;
}

double two_level_time(const TwoLevel& fabric, double half_precision_bytes, double message_bytes, double coding) {
  const double g = fabric.ranks_per_node, m = fabric.nodes;
  const double inside = (g - 1) * fabric.intra_hop + (g - 1) / g * half_precision_bytes * fabric.intra_per_byte;
  const double between = (m - 1) * (fabric.inter_hop + message_bytes * fabric.inter_per_byte);
  return 2 * inside + coding + between;
}

}  // namespace gradsync
