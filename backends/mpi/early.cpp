// Messages that are looked for before their receive is posted.
#include <algorithm>
#include <cstring>

#include "check.hpp"
#include "transport.hpp"

namespace tutti::v0::mpi {

std::optional<Unexpected> MpiTransport::probe(Rank from, std::uint32_t tag) {
  check_failure();
  if (failure_) return std::nullopt;
  try {
    if (auto found = find_early(from, tag)) return found;
    const char* const action = "look for a message";
    int is_there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    Early early{.from = from, .tag = tag, .buffer = nullptr, .status = {}};
    early_.reserve(early_.size() + 1);
    check(PMPI_Improbe(from == any_rank ? MPI_ANY_SOURCE : from, static_cast<int>(tag), ranks_.comm,
                       &is_there, &message, &early.status),
          action);
    if (is_there == 0) return std::nullopt;
    early.from = early.status.MPI_SOURCE;
    early.buffer = backing_->pool.get();
    check(
        PMPI_Mrecv(early.buffer, static_cast<int>(kFirstBytes), MPI_BYTE, &message, &early.status),
        action);
    early_.push_back(early);
    return find_early(from, tag);
  } catch (const Error& error) {
    fail(error);
    return std::nullopt;
  }
}

// How many bytes it has the first message says, or the announcement in it.
std::optional<Unexpected> MpiTransport::find_early(Rank from, std::uint32_t tag) {
  const auto found = std::ranges::find_if(early_, [&](const Early& early) {
    return early.tag == tag && (from == any_rank || early.from == from);
  });
  if (found == early_.end()) return std::nullopt;
  Header header = 0;
  std::memcpy(&header, found->buffer, sizeof header);
  int count = 0;
  check(PMPI_Get_count(&found->status, MPI_BYTE, &count), "count the bytes of a message");
  Announcement announced{static_cast<std::uint64_t>(count) - sizeof header, 0};
  if ((header & kFollowed) != 0)
    std::memcpy(&announced, found->buffer + sizeof header, sizeof announced);
  return Unexpected{found->from, announced.bytes, header & ~kFollowed};
}

// They are older than what the MPI still has of this sender and tag.
bool MpiTransport::take_early(const Transfer& transfer, std::uint64_t bytes) {
  const auto found = std::ranges::find_if(early_, [&](const Early& early) {
    return early.tag == transfer.tag && early.from == transfer.peer;
  });
  if (found == early_.end()) return false;
  const Early early = *found;
  early_.erase(found);
  statuses_.front() = early.status;
  if (bytes <= kInlineBytes) {
    take_first(transfer, bytes, early.buffer);
    return true;
  }
  const std::uint32_t index = add_message({transfer, bytes, early.buffer, nullptr});
  open(index, early.status);
  return true;
}

}  // namespace tutti::v0::mpi
