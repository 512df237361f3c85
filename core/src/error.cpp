#include "sowreap/error.hpp"

namespace sowreap {

std::string text_of(const std::int64_t* sizes, int rank) {
  std::string text = "(";
  for (int d = 0; d < rank; ++d) {
    text += std::to_string(sizes[d]);
    if (d + 1 < rank) text += ", ";
  }
  return text + (rank == 1 ? ",)" : ")");
}

}  // namespace sowreap
