#include "analyzers/closed_form.h"

namespace gradsync {

double ring_all_reduce_us(const Links& links, double bytes, double ranks) {
  return 2 * (ranks - 1) * links.hop_us + 2 * (ranks - 1) / ranks * bytes * links.us_per_byte;
}

double two_node_tree_us(const Links& links, double bytes) { return bytes * links.us_per_byte; }

double all_gather_us(const Links& links, double bytes, double ranks) {
  return (ranks - 1) * (links.hop_us + bytes * links.us_per_byte);
}

double all_to_all_and_gather_us(const Links& links, double bytes, double ranks, double ranks_per_node) {
  const double across = ranks_per_node * (ranks - ranks_per_node) / ranks * bytes * links.us_per_byte;
  const double gathered = (ranks - 1) / ranks * bytes * links.us_per_byte;
  return 2 * (ranks - 1) * links.hop_us + across + gathered;
}

double break_even_ranks(double element_bytes, double density, double entry_bytes) {
  return 2 * element_bytes / (density * entry_bytes);
}

Links links_of_all_reduce(const FabricSegment& segment, double ranks) {
  return {segment.alpha_us / (2 * (ranks - 1)), segment.beta_us_per_byte * ranks / (2 * (ranks - 1))};
}

Links links_of_all_gather(const FabricSegment& segment, double ranks) {
  return {segment.alpha_us / (ranks - 1), segment.beta_us_per_byte * ranks / (ranks - 1)};
}

}  // namespace gradsync
