// Whose interrupt it is, and whether it carries the device's work, by the name that the driver gave it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "src/model/vector_role.h"

namespace gradsync {

struct InterruptVector {
  std::string device;  // "mlx5@0000:1b:00.0", "eth0", "nvme0"; the whole name where the table does not know it
  VectorRole role = VectorRole::other;
};

InterruptVector interrupt_vector(std::string_view handlers);

}  // namespace gradsync
