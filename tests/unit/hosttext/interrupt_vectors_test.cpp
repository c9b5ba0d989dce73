#include "src/hosttext/interrupt_vectors.h"

#include <doctest/doctest.h>

namespace gradsync {

TEST_CASE("drivers' names: whose interrupt, and whether it carries a queue") {
  struct Case {
    const char* handlers;
    const char* device;
    VectorRole role;
  };
  const Case cases[] = {
      {"mlx5_comp3@pci:0000:1b:00.0", "mlx5@0000:1b:00.0", VectorRole::queue},
      {"mlx5_async0@pci:0000:1b:00.0", "mlx5@0000:1b:00.0", VectorRole::control},
      {"mlx4-comp-2@pci:0000:06:00.0", "mlx4@0000:06:00.0", VectorRole::queue},
      {"mlx4-async@pci:0000:06:00.0", "mlx4@0000:06:00.0", VectorRole::control},
      {"eth0-Tx-Rx-7", "eth0", VectorRole::queue},
      {"ena-mgmnt@pci:0000:00:05.0", "ena", VectorRole::control},
      {"ice-ens1f0-TxRx-127", "ens1f0", VectorRole::queue},
      {"ice-0000:01:00.1:ctrl-TxRx-0", "0000:01:00.1", VectorRole::control},
      {"ice-0000:01:00.1:misc", "0000:01:00.1", VectorRole::control},
      {"i40e-eth2-TxRx-0", "eth2", VectorRole::queue},
      {"bnxt_en-enp1s0-TxRx-3", "enp1s0", VectorRole::queue},
      {"enp1s0-TxRx-3", "enp1s0", VectorRole::queue},
      {"eno1-tx-0", "eno1", VectorRole::queue},
      {"eno1", "eno1", VectorRole::other},
      {"eth0-7", "eth0", VectorRole::queue},
      {"nvme0q0", "nvme0", VectorRole::control},
      {"nvme0q96", "nvme0", VectorRole::queue},
      {"virtio3-config", "virtio3", VectorRole::control},
      {"virtio3-input.0", "virtio3", VectorRole::queue},
      {"virtio1-req.0", "virtio1", VectorRole::queue},
      {"ehci_hcd:usb1, eth0-TxRx-0", "ehci_hcd:usb1, eth0-TxRx-0", VectorRole::other},
      {"ahci[0000:00:1f.2]", "ahci[0000:00:1f.2]", VectorRole::other},
      {"", "", VectorRole::other},
  };
  for (const Case& c : cases) {
    CAPTURE(c.handlers);
    const InterruptVector vector = interrupt_vector(c.handlers);
    CHECK(vector.device == c.device);
    CHECK(vector.role == c.role);
  }
  CHECK(interrupt_vector(std::string(1 << 20, 'a')).role == VectorRole::other);
}

}  // namespace gradsync
