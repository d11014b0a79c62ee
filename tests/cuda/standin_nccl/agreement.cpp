#include "agreement.hpp"

#include <sys/random.h>

#include "failure.hpp"

namespace tutti::nccl_standin {

void require_agreement(const std::vector<Note>& notes) {
  for (const Note& note : notes) {
    require(note.purpose == notes[0].purpose, ncclInvalidUsage,
            "a peer has called another function");
    require(note.bytes == notes[0].bytes, ncclInvalidArgument,
            "the ranks register windows of different sizes");
  }
}

std::array<char, 32> random_name() {
  std::array<unsigned char, 16> bytes{};
  require(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          ncclSystemError, "getrandom failed");
  std::array<char, 32> name{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    name[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
    name[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
  }
  return name;
}

}  // namespace tutti::nccl_standin
