#include "perf/sweep/buffers.hpp"

#include <algorithm>
#include <cstring>

namespace tutti::perf {

namespace {

constexpr std::size_t kGuard = 4096;  // a page, which keeps the alignment
constexpr std::byte kGuardByte{0xa5};
constexpr std::byte kPoisonByte{0x5a};
constexpr std::size_t kCacheLine = 64;

}  // namespace

Buffers::Block::Block(std::size_t size, std::size_t offset, const Allocate& allocate,
                      cuda::TimedStream* stream)
    : bytes{size}, whole{(bytes + kGuard - 1) / kGuard * kGuard + 2 * kGuard},
      memory{stream == nullptr ? allocate_at(allocate, whole, offset) : allocate(whole)},
      host{stream == nullptr ? memory : allocate_private(whole)}, gpu{stream} {
  std::memset(host.get(), static_cast<int>(kGuardByte), whole);
  if (gpu != nullptr) gpu->copy(memory.get(), host.get(), whole);
}

std::byte* Buffers::Block::data() const noexcept {
  return memory.get() + kGuard;
}

std::byte* Buffers::Block::on_host(const void* address) const noexcept {
  return host.get() + (static_cast<const std::byte*>(address) - memory.get());
}

void Buffers::Block::store(void* to, std::size_t count) const {
  if (gpu != nullptr) gpu->copy(static_cast<std::byte*>(to), on_host(to), count);
}

void Buffers::Block::load() const {
  if (gpu != nullptr) gpu->copy(host.get(), memory.get(), whole);
}

bool Buffers::Block::is_intact() const {
  const auto is_guard = [](std::byte b) { return b == kGuardByte; };
  const std::byte* const first = on_host(data());
  return std::all_of(host.get(), host.get() + kGuard, is_guard) &&
         std::all_of(first + bytes, first + bytes + kGuard, is_guard);
}

// An MPI's broadcast is always in place.
bool Buffers::shares_memory() const noexcept {
  return workload_.in_place || (is_collective(workload_) && gpu_ == nullptr &&
                                workload_.collective == Collective::broadcast);
}

// If input and output are one array of a broadcast, it is an input only at the root.
std::size_t Buffers::in_offset(const Alignment& alignment, Rank rank) const {
  const bool is_output = shares_memory() && !workload_.in_place && rank != workload_.root;
  return is_output ? alignment.out_offset() : alignment.in_offset();
}

Buffers::Buffers(const Workload& workload, Rank rank, const Alignment& alignment,
                 const Allocate& allocate, cuda::TimedStream* gpu)
    : workload_{workload}, gpu_{gpu}, contents_{contents_of(workload, rank)}, pattern_{workload},
      op_{workload.op}, element_bytes_{size_of(workload.type)},
      in_{(shares_memory() ? std::max(contents_.in_count, contents_.out_count)
                           : contents_.in_count) *
              element_bytes_,
          in_offset(alignment, rank), allocate, gpu},
      out_{shares_memory() ? 0 : contents_.out_count * element_bytes_, alignment.out_offset(),
           allocate, gpu} {
  place();
  if (gpu != nullptr) keep_input(allocate);
  if (workload.uneven) place_blocks(rank);
  if (is_collective(workload)) calls_ = {call_};
  else if (contents_.in_count > 0) calls_ = messages(rank);
  native_calls_ = calls_;
  for (Call& call : native_calls_) {
    if (!knows_all_counts_) continue;
    (call.collective == Collective::reduce_scatter ? call.in_counts : call.out_counts) = counts_;
  }
}

// All ranks know the blocks of an all_gather and a reduce_scatter. In other collectives, each rank
// knows its own.
void Buffers::place_blocks(Rank rank) {
  const Collective collective = workload_.collective;
  knows_all_counts_ = !knows_own_counts_only(workload_);
  const bool is_pairs = is_between_pairs(collective);
  const Rank first = is_pairs ? rank : 0;
  for (Rank r = 0; r < workload_.size; ++r)
    counts_.push_back(block_count(workload_, (first + r) % workload_.size));
  if (knows_all_counts_) return;
  call_.own_counts = true;
  const bool is_asked = rank == workload_.root || is_pairs;
  if (is_asked && !is_gathering(collective)) call_.in_counts = counts_;
  if (is_asked && !is_scattering(collective)) call_.out_counts = counts_;
}

void Buffers::place() {
  if (is_collective(workload_) && workload_.collective == Collective::barrier) {
    call_ = call::barrier();
    return;
  }
  const bool reduces = is_collective(workload_) && is_reduction(workload_.collective);
  std::byte* in = in_.data();
  std::byte* out = out_.data();
  if (shares_memory()) {
    const std::size_t shift = contents_.shared_offset * element_bytes_;
    out = in_.data() + (contents_.out_count < contents_.in_count ? shift : 0);
    in = in_.data() + (contents_.in_count < contents_.out_count ? shift : 0);
  }
  call_ = {.collective = workload_.collective,
           .in = contents_.in_count == 0 ? nullptr : in,
           .out = contents_.out_count == 0 ? nullptr : out,
           .in_count = contents_.in_count,
           .out_count = contents_.out_count,
           .type = workload_.type,
           .element_bytes = element_bytes_,
           .root = workload_.root,
           .op = reduces ? &op_ : nullptr,
           .point_to_point = workload_.point_to_point};
}

// Rank 0 of a ping-pong sends first.
std::vector<Call> Buffers::messages(Rank rank) const {
  const Rank last = workload_.size - 1;
  Call call = call_;
  if (call.point_to_point == PointToPoint::sendrecv) {
    call.to = (rank + 1) % workload_.size;
    call.from = (rank + last) % workload_.size;
    return {call};
  }
  Call reply = call;
  call.to = reply.from = last - rank;
  call.out = nullptr;
  call.out_count = 0;
  reply.point_to_point = PointToPoint::recv;
  reply.in = nullptr;
  reply.in_count = 0;
  if (rank == 0) return {call, reply};
  return {reply, call};
}

// All ranks allocate, also those without an input.
void Buffers::keep_input(const Allocate& allocate) {
  kept_input_.emplace(call_.in_count * element_bytes_, 0, allocate, gpu_);
  std::byte* const data = kept_input_->data();
  pattern_.fill(contents_.input, kept_input_->on_host(data));
  kept_input_->store(data, kept_input_->bytes);
}

void Buffers::refresh() {
  if (call_.in == nullptr) return;
  // Only this function writes to the memory that the call reads.
  auto* const in = static_cast<std::byte*>(const_cast<void*>(call_.in));
  if (kept_input_) gpu_->copy(in, kept_input_->data(), kept_input_->bytes);
  else pattern_.fill(contents_.input, in);
}

void Buffers::poison() {
  if (call_.out == nullptr) return;
  std::memset(out_block().on_host(call_.out), static_cast<int>(kPoisonByte), out_bytes());
  out_block().store(call_.out, out_bytes());
}

std::uint64_t Buffers::read() const {
  if (gpu_ != nullptr || call_.out == nullptr) return 0;
  const auto* bytes = static_cast<const std::byte*>(call_.out);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < out_bytes(); at += kCacheLine)
    sum += static_cast<std::uint64_t>(bytes[at]);
  return sum;
}

Check Buffers::check() {
  if (call_.out == nullptr) return {};
  in_.load();
  out_.load();
  const std::byte* const out = out_block().on_host(call_.out);
  Check result{.wrong = pattern_.count_wrong(contents_.output, out),
               .hash = pattern_.hash(contents_.output, out)};
  if (call_.in != nullptr && !shares_memory())  // the call must not write its input
    result.wrong += pattern_.count_wrong(contents_.input, in_.on_host(call_.in));
  // A stray write counts as one wrong element, since its length is unknown.
  if (!in_.is_intact() || !out_.is_intact()) ++result.wrong;
  return result;
}

std::vector<std::byte> Buffers::output() {
  if (call_.out == nullptr) return {};
  out_block().load();
  const std::byte* const out = out_block().on_host(call_.out);
  return {out, out + out_bytes()};
}

}  // namespace tutti::perf
