#include "transport.hpp"

#include <algorithm>
#include <cstring>

#include "check.hpp"

namespace tutti::v0::mpi {
namespace {

// Room for this many transfers is there from the start, so that when a rank allocates does not
// depend on how many messages happen to be under way at once.
constexpr std::size_t kUsualTransfers = 64;
constexpr std::uint32_t kPollsPerNotice = 64;  // a probe costs as much as a poll

/// The number of bytes is in it, so that where two headers agree the lengths do too.
Header header_of(std::uint64_t fingerprint, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  return (fingerprint ^ bytes * kGoldenRatio) << 1;
}

// Tags of transfers are the lower half of the MPI's, tags of payloads the upper half but for the
// last.
std::uint32_t transfer_tags(const Ranks& ranks) {
  return static_cast<std::uint32_t>(ranks.tag_limit) / 2;
}
/// @return the receive, where there is no other.
const Transfer* only_receive(std::span<const Transfer> transfers) noexcept {
  const Transfer* found = nullptr;
  for (const Transfer& transfer : transfers) {
    if (transfer.kind == Transfer::Kind::send) continue;
    if (found != nullptr) return nullptr;
    found = &transfer;
  }
  return found;
}
PayloadTag payload_tag_of(std::uint32_t serial, const Ranks& ranks) {
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
    : ranks_{ranks}, options_{options}, failure_signal_{std::move(failure_signal)},
      capabilities_{.name = "mpi",
                    .tags = transfer_tags(ranks),
                    .combines = true,
                    .threads = may_be_called_by_threads(),
                    .idle_spins = ranks.oversubscribed ? 20 : 10000},
      backing_{std::make_unique<Backing>(warm_bytes())}, ended_{ranks.comm},
      has_notices_{has_notices}, told_{!has_notices} {
  messages_.reserve(kUsualTransfers);
  free_messages_.reserve(kUsualTransfers);
  completions().reserve(2 * kUsualTransfers);
  make_room(kUsualTransfers);
}

MpiTransport::~MpiTransport() {
  int finalized = 0;
  if (is_forked() || PMPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) {
    static_cast<void>(backing_.release());  // the MPI is gone; nobody can say what it still holds
    return;
  }
  ended_.release();
  if (!requests_.empty())
    abort({ErrorCode::aborted, "rank " + std::to_string(ranks_.self) +
                                   " destroyed its communicator with an operation pending"});
  // Messages of operations that ended well are waited for, if only for a moment.
  if (!drain(detached_sends_.requests(), kSendPatience)) static_cast<void>(backing_.release());
  else if (!has_failed() && all_ended_well()) PMPI_Comm_free(&ranks_.comm);
}

// Where a rank has died, others end that hear of it, and the MPI may tell of them first. The alarm
// knows who was the first, and all ranks say what it says.
void MpiTransport::check_failure() const {
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

// Room for more requests: once the MPI has made one it must not be lost.
void MpiTransport::make_room(std::size_t requests) {
  const std::size_t needed = requests_.size() + requests;
  if (needed <= requests_.capacity()) return;
  requests_.reserve(2 * needed);
  owners_.reserve(2 * needed);
  indices_.resize(2 * needed);
  statuses_.resize(2 * needed);
}

// Likewise for one more message.
void MpiTransport::make_message_room() {
  if (!free_messages_.empty()) return;
  messages_.emplace_back();
  free_messages_.reserve(messages_.capacity());  // so that finishing a message cannot fail
  completions().reserve(2 * messages_.capacity());
  free_messages_.push_back(static_cast<std::uint32_t>(messages_.size() - 1));
}

void MpiTransport::post_one(const Transfer& transfer) {
  expects(transfer.peer >= 0 && transfer.peer < ranks_.size,
          "a transfer names no rank of the group");
  expects(transfer.tag < capabilities_.tags, "a transfer has a tag beyond Capabilities::tags");
  expects(transfer.combiner == nullptr || transfer.reduced, "a combiner takes what is not reduced");
  const std::uint64_t bytes = bytes_of(transfer.pieces);
  make_room(1);
  make_message_room();
  if (transfer.kind == Transfer::Kind::send) post_send(transfer, bytes);
  else post_receive(transfer, bytes);
}

void MpiTransport::post_send(const Transfer& transfer, std::uint64_t bytes) {
  std::byte* const buffer = backing_->pool.get();
  const bool fits_first = bytes <= kInlineBytes;
  const Header header = header_of(transfer.fingerprint, bytes) | (fits_first ? 0 : kFollowed);
  std::memcpy(buffer, &header, sizeof header);
  const Announcement announcement{bytes, payload_tag_of(next_payload_, ranks_)};
  if (fits_first) Cursor{transfer.pieces}.read(buffer + sizeof header, bytes);
  else std::memcpy(buffer + sizeof header, &announcement, sizeof announcement);
  const std::size_t count = sizeof header + (fits_first ? bytes : sizeof announcement);
  detached_sends_.make_room(backing_->pool);  // before there is a request that could be lost
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Isend(buffer, static_cast<int>(count), MPI_BYTE, transfer.peer,
                   static_cast<int>(transfer.tag), ranks_.comm, &request),
        transfer);
  if (fits_first && leaves(request, transfer.peer, buffer, count)) return complete(transfer.cookie);
  const std::uint32_t index = add_message({transfer, bytes, buffer, nullptr});
  add_request(request, {index, true, 0});
  if (fits_first) return;
  ++next_payload_;
  post_payload(index, announcement.tag);
}

// Whether a small message needs no more care of its own.
bool MpiTransport::leaves(MPI_Request& request, Rank peer, std::byte* buffer, std::size_t count) {
  if (ended_.take(request, count)) {
    backing_->pool.put(buffer);
    return true;
  }
  if (ended_.knows(count) || detached_sends_.is_full()) return false;
  detached_sends_.add(request, peer, buffer);
  return true;
}

void MpiTransport::post_receive(const Transfer& transfer, std::uint64_t bytes) {
  if (!early_.empty() && take_early(transfer, bytes)) return;
  std::byte* const buffer = backing_->pool.get();
  const bool lands = transfer.combiner != nullptr && bytes > kInlineBytes;
  ReceiveBuffer* const receive_buffer = lands ? backing_->landings.get() : nullptr;
  // Where nothing else is awaited, what comes so often waits already that it is worth a look.
  const bool looks = bytes <= kInlineBytes && requests_.empty();
  MPI_Request request = MPI_REQUEST_NULL;
  if (looks && ranks_.probes && take_probed(transfer, buffer))
    return take_first(transfer, bytes, buffer);
  check(PMPI_Irecv(buffer, static_cast<int>(kFirstBytes), MPI_BYTE, transfer.peer,
                   static_cast<int>(transfer.tag), ranks_.comm, &request),
        transfer);
  if (looks && !ranks_.probes && is_there(request, transfer))
    return take_first(transfer, bytes, buffer);
  add_request(request, {add_message({transfer, bytes, buffer, receive_buffer}), true, 0});
}

bool MpiTransport::is_there(MPI_Request& request, const Transfer& transfer) {
  int done = 0;
  check(PMPI_Test(&request, &done, &statuses_.front()), transfer);
  return done != 0;
}

// First messages are short enough that what is found is here as a whole, so nothing waits.
bool MpiTransport::take_probed(const Transfer& transfer, std::byte* buffer) {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status& status = statuses_.front();
  check(PMPI_Improbe(transfer.peer, static_cast<int>(transfer.tag), ranks_.comm, &found, &message,
                     &status),
        transfer);
  if (found == 0) return false;
  check(PMPI_Mrecv(buffer, static_cast<int>(kFirstBytes), MPI_BYTE, &message, &status), transfer);
  return true;
}

// Of a transfer that is done as it is posted.
void MpiTransport::take_first(const Transfer& transfer, std::uint64_t bytes, std::byte* buffer) {
  check_first(transfer, bytes, buffer, statuses_.front());
  unpack_first(transfer, buffer + sizeof(Header), bytes);
  backing_->pool.put(buffer);
  complete(transfer.cookie);
}

std::uint32_t MpiTransport::add_message(const Message& message) noexcept {
  const std::uint32_t index = free_messages_.back();
  free_messages_.pop_back();
  messages_[index] = message;
  return index;
}

void MpiTransport::add_request(MPI_Request request, Owner owner) {
  requests_.push_back(request);
  owners_.push_back(owner);
  ++messages_[owner.message].remaining;
}

void MpiTransport::poll() {
  check_failure();
  if (failure_) return;
  try {
    progress();
    const bool is_empty = completed() == 0;
    if (is_empty && has_notices_ && ++empty_polls_ % kPollsPerNotice == 0) look_for_notice();
  } catch (const Error& error) {
    fail(error);
  }
}

// Every call into the MPI makes it look at the network, which is what polling costs. So one request
// is tested alone and several with one call.
void MpiTransport::progress() {
  if (requests_.empty()) return;
  if (requests_.size() > 1) return progress_many();
  int done = 0;
  const Owner owner = owners_.front();
  MPI_Status& status = statuses_.front();
  check(PMPI_Test(requests_.data(), &done, &status), messages_[owner.message].transfer);
  if (done == 0) return;
  requests_.clear();
  owners_.clear();
  finish(owner, status);
}

void MpiTransport::progress_many() {
  int done = 0;
  const int code = PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done,
                                 indices_.data(), statuses_.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) throw error_of(code, "make progress");
  if (done == 0 || done == MPI_UNDEFINED) return;
  for (std::size_t i = 0; i < static_cast<std::size_t>(done); ++i) {
    const Owner owner = owners_[static_cast<std::size_t>(indices_[i])];
    if (code == MPI_ERR_IN_STATUS) check(statuses_[i].MPI_ERROR, messages_[owner.message].transfer);
    finish(owner, statuses_[i]);
  }
  std::size_t kept = 0;  // close the gaps, keep the order
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    owners_[kept++] = owners_[i];
  }
  requests_.resize(kept);
  owners_.resize(kept);
}

void MpiTransport::finish(Owner owner, const MPI_Status& status) {
  Message& message = messages_[owner.message];
  const bool receives = message.transfer.kind == Transfer::Kind::recv;
  --message.remaining;
  if (!owner.header) advance(owner);
  else if (receives) open(owner.message, status);
  if (message.remaining > 0) return;
  if (receives) message.unpack_buffer();
  complete(message.transfer.cookie);
  backing_->pool.put(message.buffer);
  if (message.receive_buffer != nullptr) backing_->landings.put(message.receive_buffer);
  free_messages_.push_back(owner.message);
}

// Checks the first message of a transfer and asks for the rest of it.
void MpiTransport::open(std::uint32_t index, const MPI_Status& status) {
  const Message& message = messages_[index];
  check_first(message.transfer, message.bytes, message.buffer, status);
  if (message.fits_first()) return;
  Announcement announced{};
  std::memcpy(&announced, message.buffer + sizeof(Header), sizeof announced);
  post_payload(index, announced.tag);
}

void MpiTransport::check_first(const Transfer& transfer, std::uint64_t bytes,
                               const std::byte* buffer, const MPI_Status& status) const {
  Header header = 0;
  std::memcpy(&header, buffer, sizeof header);
  const bool fits_first = bytes <= kInlineBytes;
  if (header == (header_of(transfer.fingerprint, bytes) | (fits_first ? 0 : kFollowed))) return;
  int count = 0;
  check(PMPI_Get_count(&status, MPI_BYTE, &count), "count the bytes of a message");
  Announcement announced{static_cast<std::uint64_t>(count) - sizeof header, 0};
  if ((header & kFollowed) != 0) std::memcpy(&announced, buffer + sizeof header, sizeof announced);
  const std::uint64_t theirs = (header ^ header_of(0, announced.bytes)) >> 1;
  const std::uint64_t ours = header_of(transfer.fingerprint, 0) >> 1;
  if (theirs != ours) throw wrong_call(transfer.peer, theirs, ours);
  throw wrong_length(transfer.peer, announced.bytes, bytes);
}

void MpiTransport::Message::unpack_buffer() const {
  if (fits_first()) unpack_first(transfer, buffer + sizeof(Header), bytes);
  else if (is_staged()) Cursor{transfer.pieces}.write(buffer + kFirstBytes, bytes);
}

void MpiTransport::look_for_notice() {
  if (std::optional<Error> notice = find_notice(ranks_)) {
    told_ = true;  // the rank that failed tells everyone itself
    throw Error{*notice};
  }
}

}  // namespace tutti::v0::mpi
