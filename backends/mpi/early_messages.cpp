#include "early_messages.hpp"

#include <algorithm>

#include "check.hpp"
#include "first_message.hpp"

namespace tutti::v0::mpi {

std::optional<Unexpected> EarlyMessages::probe(Rank from, std::uint32_t tag) {
  auto found = find(from, tag);
  if (found == early_.end()) {
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
    early.buffer = pool_.get();
    check(
        PMPI_Mrecv(early.buffer, static_cast<int>(kFirstBytes), MPI_BYTE, &message, &early.status),
        action);
    early_.push_back(early);
    found = early_.end() - 1;
  }
  const detail::Envelope envelope = envelope_of(found->buffer, found->status);
  return Unexpected{found->from, envelope.bytes, envelope.fingerprint};
}

std::optional<EarlyMessages::Early> EarlyMessages::pop(const Transfer& transfer) {
  if (early_.empty()) return std::nullopt;
  const auto found = find(transfer.peer, transfer.tag);
  if (found == early_.end()) return std::nullopt;
  const Early early = *found;
  early_.erase(found);
  return early;
}

std::vector<EarlyMessages::Early>::iterator EarlyMessages::find(Rank from, std::uint32_t tag) {
  return std::ranges::find_if(early_, [&](const Early& early) {
    return early.tag == tag && (from == any_rank || early.from == from);
  });
}

}  // namespace tutti::v0::mpi
