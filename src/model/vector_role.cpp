#include "src/model/vector_role.h"

namespace gradsync {

const char* to_string(VectorRole role) {
  switch (role) {
    case VectorRole::queue:
      return "queue";
    case VectorRole::control:
      return "control";
    case VectorRole::other:
      break;
  }
  return "other";
}

}  // namespace gradsync
