/// @file
/// Pending messages, and the MPI requests that move them.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "check.hpp"
#include "message.hpp"
#include "receive_buffer.hpp"

namespace tutti::v0::mpi {

/// A pending transfer.
struct PostedTransfer {
  Transfer transfer;
  std::uint64_t bytes;
  std::byte* buffer;  ///< The buffer of the first MPI message.
  /// The buffer of a receive that combines, if the payload does not fit the first MPI message.
  ReceiveBuffer* receive_buffer;
  std::uint32_t remaining = 0;  ///< MPI requests not yet complete.
  PayloadTag tag = 0;           ///< The tag of the payload.
  Cutter cutter{};              ///< The rest of the payload.

  [[nodiscard]] bool fits_first() const noexcept { return bytes <= kInlineBytes; }
  [[nodiscard]] bool is_staged() const noexcept {
    return !fits_first() && bytes <= kStagedBytes && transfer.pieces.size() > 1 &&
           receive_buffer == nullptr;
  }
  [[nodiscard]] bool is_send() const noexcept { return transfer.kind == Transfer::Kind::send; }
};

/// The pending transfers of a transport, whose memory is reused.
class PostedTransfers {
 public:
  /// @param usual number of transfers for which no memory is allocated later.
  explicit PostedTransfers(std::size_t usual) { free_.reserve(usual); }
  /// Makes room, so that add cannot fail.
  void make_room() {
    if (!free_.empty()) return;
    all_.emplace_back();
    if (free_.capacity() < all_.size()) free_.reserve(2 * all_.size());  // release cannot fail
    free_.push_back(&all_.back());
  }
  /// Keeps a new transfer. @return it.
  [[nodiscard]] PostedTransfer& add(const PostedTransfer& message) noexcept {
    PostedTransfer& kept = *free_.back();
    free_.pop_back();
    return kept = message;
  }
  /// Ends a message of add().
  void release(PostedTransfer& message) noexcept { free_.push_back(&message); }
  /// @return the largest number of messages that were pending at once.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  std::deque<PostedTransfer> all_{};
  std::vector<PostedTransfer*> free_{};
};

/// The purpose of an MPI request.
struct Owner {
  PostedTransfer* message;
  bool is_first;      ///< Whether the request receives or sends the first MPI message.
  std::uint8_t half;  ///< The half of the receive buffer, if it receives into one.
};

/// The active MPI requests of a transport, the oldest first. Every call into the MPI makes it look
/// at the network, which is the cost of a poll. So one request is tested alone, and several with
/// one call.
class Requests {
 public:
  /// @param usual number of requests for which no memory is allocated later.
  explicit Requests(std::size_t usual) { make_room(usual); }
  /// Makes room, so that add cannot fail: a request that the MPI has made must not be lost.
  /// @param requests number of requests to be added.
  void make_room(std::size_t requests);
  /// Adds a new request.
  void add(MPI_Request request, Owner owner) noexcept {
    requests_.push_back(request);
    owners_.push_back(owner);
    ++owner.message->remaining;
  }
  [[nodiscard]] bool empty() const noexcept { return requests_.empty(); }
  /// Tests all requests. @param done called with owner and status of each request that has ended;
  /// may add requests. Throws Error that names the peer.
  template <class Done>
  void test(Done done);
  [[nodiscard]] std::span<const MPI_Request> all() const noexcept { return requests_; }
  /// @return the owners of all().
  [[nodiscard]] std::span<const Owner> owners() const noexcept { return owners_; }
  void clear() noexcept { requests_.clear(); }

 private:
  template <class Done>
  void test_several(Done done);
  void remove_ended() noexcept;

  std::vector<MPI_Request> requests_{};
  std::vector<Owner> owners_{};         // of requests_
  std::vector<int> indices_{};          // for MPI_Testsome
  std::vector<MPI_Status> statuses_{};  // for MPI_Testsome
};

inline void Requests::make_room(std::size_t requests) {
  const std::size_t needed = requests_.size() + requests;
  if (needed <= requests_.capacity()) return;
  requests_.reserve(2 * needed);
  owners_.reserve(2 * needed);
  indices_.resize(2 * needed);
  statuses_.resize(2 * needed);
}

template <class Done>
void Requests::test(Done done) {
  if (requests_.empty()) return;
  if (requests_.size() > 1) return test_several(done);
  int has_ended = 0;
  const Owner owner = owners_.front();
  MPI_Status& status = statuses_.front();
  check(PMPI_Test(requests_.data(), &has_ended, &status), owner.message->transfer);
  if (has_ended == 0) return;
  requests_.clear();
  owners_.clear();
  done(owner, status);
}

template <class Done>
void Requests::test_several(Done done) {
  int ended = 0;
  const int code = PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &ended,
                                 indices_.data(), statuses_.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) throw error_of(code, "make progress");
  if (ended == 0 || ended == MPI_UNDEFINED) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(ended); ++i) {
    const Owner owner = owners_[static_cast<std::size_t>(indices_[i])];
    if (code == MPI_ERR_IN_STATUS) check(statuses_[i].MPI_ERROR, owner.message->transfer);
    done(owner, statuses_[i]);
  }
  remove_ended();
}

inline void Requests::remove_ended() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    owners_[kept++] = owners_[i];
  }
  requests_.resize(kept);
  owners_.resize(kept);
}

}  // namespace tutti::v0::mpi
