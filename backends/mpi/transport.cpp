#include "transport.hpp"

#include <algorithm>

#include "check.hpp"
#include "first_message.hpp"

namespace tutti::v0::mpi {
namespace {

/// Memory for this many transfers is allocated at the start, so that allocations do not depend on
/// the number of messages that happen to be pending at once.
constexpr std::size_t kUsualTransfers = 64;
/// Polls without a completion between two looks for a notice. A look costs as much as a poll.
constexpr std::uint32_t kPollsPerNotice = 64;

/// @return the number of tags for transfers, which are the lower half of the MPI's. Tags of
/// payloads are the upper half, except the last.
std::uint32_t transfer_tags(const Ranks& ranks) {
  return static_cast<std::uint32_t>(ranks.tag_limit) / 2;
}
/// @return the receive, if there is only one.
const Transfer* only_receive(std::span<const Transfer> transfers) noexcept {
  const Transfer* found = nullptr;
  for (const Transfer& transfer : transfers) {
    if (transfer.kind == Transfer::Kind::send) continue;
    if (found != nullptr) return nullptr;
    found = &transfer;
  }
  return found;
}
PayloadTag payload_tag_for(std::uint32_t serial, const Ranks& ranks) {
  const std::uint32_t first = transfer_tags(ranks);
  const std::uint32_t tags = static_cast<std::uint32_t>(ranks.tag_limit) - first;
  return static_cast<PayloadTag>(first + serial % tags);
}

bool may_be_called_by_threads() {
  int provided = MPI_THREAD_SINGLE;
  check(PMPI_Query_thread(&provided), "ask for its thread level");
  return provided >= MPI_THREAD_MULTIPLE;
}

}  // namespace

MpiTransport::MpiTransport(const Ranks& ranks, const Options& options,
                           std::shared_ptr<FailureSignal> failure_signal, bool has_notices)
    : ranks_{ranks}, failure_signal_{std::move(failure_signal)},
      capabilities_{.name = "mpi",
                    .tags = transfer_tags(ranks),
                    .combines = true,
                    .threads = may_be_called_by_threads(),
                    .idle_spins = ranks.oversubscribed ? 20 : Capabilities{}.idle_spins},
      backing_{std::make_unique<Backing>(Payloads::warm_bytes(options.chunk_bytes))},
      messages_{kUsualTransfers}, requests_{kUsualTransfers},
      payloads_{ranks_, options.chunk_bytes, requests_}, early_{ranks_, backing_->pool},
      ended_{ranks.comm}, has_notices_{has_notices}, is_announced_{!has_notices} {
  completions().reserve(2 * kUsualTransfers);
}

MpiTransport::~MpiTransport() {
  int finalized = 0;
  if (is_forked() || PMPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) {
    static_cast<void>(backing_.release());  // the MPI has ended, and may still use any of it
    return;
  }
  ended_.release();
  if (!requests_.empty())
    abort({ErrorCode::aborted, "rank " + std::to_string(ranks_.self) +
                                   " destroyed its communicator with an operation pending"});
  // Messages of completed operations may take a moment to be sent.
  if (!drain(detached_sends_.requests(), kSendPatience)) static_cast<void>(backing_.release());
  else if (!has_failed() && all_ended_well()) PMPI_Comm_free(&ranks_.comm);
}

// If a rank has died, others end because of it, and the MPI may report these first. The failure
// signal has the first one, and gives all ranks the same cause.
void MpiTransport::check_failure() const {
  int finalized = 0;
  if (PMPI_Finalized(&finalized) == MPI_SUCCESS && finalized != 0)
    throw Error{ErrorCode::aborted,
                "MPI_Finalize has been called, and this communicator's messages go by the MPI; "
                "destroy it before"};
  if (failure_signal_) failure_signal_->check();
  if (failure_ && time_now() - failed_ >= kSignalPatience) throw Error{*failure_};
}

void MpiTransport::fail(const Error& error) {
  failure_ = error;
  const bool may_be_a_death =
      error.code() == ErrorCode::peer_dead || error.code() == ErrorCode::transport;
  if (failure_signal_ && may_be_a_death) failed_ = time_now();
  check_failure();
}

void MpiTransport::post(std::span<const Transfer> transfers) {
  check_failure();
  if (failure_) return;
  try {
    const Transfer* const awaited = requests_.empty() ? only_receive(transfers) : nullptr;
    for (const Transfer& transfer : transfers)
      if (&transfer != awaited) post_one(transfer);
    if (awaited != nullptr) post_one(*awaited);
  } catch (const Error& error) {
    fail(error);
  }
}

void MpiTransport::post_one(const Transfer& transfer) {
  expects(transfer.peer >= 0 && transfer.peer < ranks_.size,
          "a transfer names no rank of the group");
  expects(transfer.tag < capabilities_.tags, "a transfer has a tag beyond Capabilities::tags");
  expects(transfer.combiner == nullptr || transfer.reduced,
          "a transfer with a combiner is not reduced");
  const std::uint64_t bytes = bytes_of(transfer.pieces);
  requests_.make_room(1);
  messages_.make_room();
  completions().reserve(messages_.size() + 1);  // all may complete in one poll
  if (transfer.kind == Transfer::Kind::send) post_send(transfer, bytes);
  else post_receive(transfer, bytes);
}

void MpiTransport::post_send(const Transfer& transfer, std::uint64_t bytes) {
  std::byte* const buffer = backing_->pool.get();
  const bool fits_first = bytes <= kInlineBytes;
  const PayloadTag tag = payload_tag_for(next_payload_, ranks_);
  const std::size_t count = write_first(buffer, transfer, bytes, tag);
  detached_sends_.make_room(backing_->pool);  // before there is a request that could be lost
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Isend(buffer, static_cast<int>(count), MPI_BYTE, transfer.peer,
                   static_cast<int>(transfer.tag), ranks_.comm, &request),
        transfer);
  if (fits_first && leaves(request, transfer.peer, buffer, count)) return complete(transfer.cookie);
  PostedTransfer& message = messages_.add({transfer, bytes, buffer, nullptr});
  requests_.add(request, {&message, true, 0});
  if (fits_first) return;
  ++next_payload_;
  payloads_.begin(message, tag);
}

// Whether the transfer of a small message is done: its send has ended, or was detached.
bool MpiTransport::leaves(MPI_Request& request, Rank peer, std::byte* buffer, std::size_t count) {
  if (ended_.release_ended(request, count)) {
    backing_->pool.put(buffer);
    return true;
  }
  if (ended_.has_ended_as_long(count) || detached_sends_.is_full()) return false;
  detached_sends_.add(request, peer, buffer);
  return true;
}

void MpiTransport::post_receive(const Transfer& transfer, std::uint64_t bytes) {
  const bool fits_first = bytes <= kInlineBytes;
  ReceiveBuffer* const receive_buffer =
      transfer.combiner != nullptr && !fits_first ? backing_->receive_buffers.acquire() : nullptr;
  if (receive_early(transfer, bytes, receive_buffer)) return;
  std::byte* const buffer = backing_->pool.get();
  // If nothing else is awaited, the message has often come already, so a look pays.
  const bool looks = fits_first && requests_.empty();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  if (looks && ranks_.probes && receive_probed(transfer, buffer, status))
    return receive_first(transfer, bytes, buffer, status);
  check(PMPI_Irecv(buffer, static_cast<int>(kFirstBytes), MPI_BYTE, transfer.peer,
                   static_cast<int>(transfer.tag), ranks_.comm, &request),
        transfer);
  if (looks && !ranks_.probes) {
    int has_ended = 0;
    check(PMPI_Test(&request, &has_ended, &status), transfer);
    if (has_ended != 0) return receive_first(transfer, bytes, buffer, status);
  }
  requests_.add(request, {&messages_.add({transfer, bytes, buffer, receive_buffer}), true, 0});
}

bool MpiTransport::receive_early(const Transfer& transfer, std::uint64_t bytes,
                                 ReceiveBuffer* receive_buffer) {
  const auto early = early_.pop(transfer);
  if (!early) return false;
  if (bytes <= kInlineBytes) receive_first(transfer, bytes, early->buffer, early->status);
  else open(messages_.add({transfer, bytes, early->buffer, receive_buffer}), early->status);
  return true;
}

// First messages are so short that a probe finds them only when all of them is here, so MPI_Mrecv
// does not wait.
bool MpiTransport::receive_probed(const Transfer& transfer, std::byte* buffer,
                                  MPI_Status& status) const {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  check(PMPI_Improbe(transfer.peer, static_cast<int>(transfer.tag), ranks_.comm, &found, &message,
                     &status),
        transfer);
  if (found == 0) return false;
  check(PMPI_Mrecv(buffer, static_cast<int>(kFirstBytes), MPI_BYTE, &message, &status), transfer);
  return true;
}

// Receives the first message of a transfer that completes when it is posted.
void MpiTransport::receive_first(const Transfer& transfer, std::uint64_t bytes, std::byte* buffer,
                                 const MPI_Status& status) {
  check_first(buffer, status, transfer, bytes);
  guard(ranks_.self, [&] { unpack_first(buffer, transfer, bytes); });
  backing_->pool.put(buffer);
  complete(transfer.cookie);
}

void MpiTransport::poll() {
  check_failure();
  if (failure_) return;
  try {
    requests_.test([this](Owner owner, const MPI_Status& status) { advance(owner, status); });
    const bool is_empty = completed() == 0;
    if (is_empty && has_notices_ && ++empty_polls_ % kPollsPerNotice == 0) look_for_notice();
  } catch (const Error& error) {
    fail(error);
  }
}

// Continues a message of which a request has ended.
void MpiTransport::advance(Owner owner, const MPI_Status& status) {
  PostedTransfer& message = *owner.message;
  --message.remaining;
  if (!owner.is_first) payloads_.advance(owner);
  else if (!message.is_send()) open(message, status);
  if (message.remaining > 0) return;
  if (!message.is_send() && message.fits_first())
    guard(ranks_.self, [&] { unpack_first(message.buffer, message.transfer, message.bytes); });
  else if (!message.is_send()) Payloads::unpack(message);
  complete(message.transfer.cookie);
  backing_->pool.put(message.buffer);
  if (message.receive_buffer != nullptr) backing_->receive_buffers.release(message.receive_buffer);
  messages_.release(message);
}

// Checks the first message of a transfer and asks for its payload.
void MpiTransport::open(PostedTransfer& message, const MPI_Status& status) {
  check_first(message.buffer, status, message.transfer, message.bytes);
  if (!message.fits_first()) payloads_.begin(message, payload_tag_of(message.buffer));
}

std::optional<Unexpected> MpiTransport::probe(Rank from, std::uint32_t tag) {
  check_failure();
  if (failure_) return std::nullopt;
  try {
    return early_.probe(from, tag);
  } catch (const Error& error) {
    fail(error);
    return std::nullopt;
  }
}

void MpiTransport::look_for_notice() {
  if (std::optional<Error> notice = find_notice(ranks_)) {
    is_announced_ = true;  // the failed rank informs all ranks itself
    throw Error{*notice};
  }
}

}  // namespace tutti::v0::mpi
