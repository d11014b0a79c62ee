#include "agreement.hpp"

#include <algorithm>
#include <tuple>

#include <sys/random.h>

#include "failure.hpp"
#include "mesh.hpp"

namespace tutti::nccl_standin {

void require_agreement(const std::vector<Note>& notes) {
  for (const Note& note : notes) {
    require(note.purpose == notes[0].purpose, ncclInvalidUsage,
            "a peer has called another function");
    require(note.bytes == notes[0].bytes, ncclInvalidArgument,
            "the ranks register windows of different sizes");
  }
}

// Ranks of a colour are in the order of their keys, then of their former ranks; the first names it.
std::optional<Seat> seat_after_split(const std::vector<Note>& notes, int rank) {
  const Note& own = notes[static_cast<std::size_t>(rank)];
  if (own.color == NCCL_SPLIT_NOCOLOR) return {};
  std::vector<std::tuple<std::int64_t, int>> members;
  for (std::size_t peer = 0; peer < notes.size(); ++peer)
    if (notes[peer].color == own.color)
      members.emplace_back(notes[peer].key, static_cast<int>(peer));
  std::ranges::sort(members);
  const auto place = std::ranges::find(members, std::tuple{own.key, rank});
  const auto first = static_cast<std::size_t>(std::get<1>(members.front()));
  return Seat{.name = {notes[first].name.begin(), notes[first].name.end()},
              .rank = static_cast<int>(place - members.begin()),
              .size = static_cast<int>(members.size())};
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
