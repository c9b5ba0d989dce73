// How fast the links of this host are, and how large its caches, as the kernel says below `root`.
#pragma once

#include <filesystem>

#include "src/model/report.h"
#include "src/model/series.h"

namespace gradsync {

// The series `links`: interface, gbits_per_s, source. Sources: `ethernet` (/sys/class/net/*/speed), `infiniband`
// (ports' rate, interface "mlx5_0:1"; RoCE too), `pcie` (the slot of either, bandwidth after line coding). What has no
// speed, as loopback and virtual links, has no row.
Series read_links(const std::filesystem::path& root);

// host.l2_bytes, host.l3_bytes: of the first CPU; absent where the kernel does not say.
Facts host_caches(const std::filesystem::path& root);

}  // namespace gradsync
