#include "object_stream.hpp"

#include <algorithm>
#include <cstring>

#include <tutti/error.hpp>
#include <tutti/spi/copy.hpp>

#include "collectives/engine/engine.hpp"
#include "object_operation.hpp"

namespace tutti::v0::detail {
namespace {

/// Bytes of a short segment: they stay in the caches from encoding to decoding; shorter segments
/// cost more than they save.
constexpr std::size_t kShort = 64_KiB;
/// The most short segments. If other programs use the cores, a rank loses its turn on a core after
/// every few segments, and an object of many short ones takes four times as long.
constexpr std::size_t kMostShort = 32;
constexpr std::size_t kLong = 4_MiB;

/// @return the wanted number of segments.
std::size_t segments_of(std::size_t bytes) noexcept {
  return std::max({std::min(bytes / kShort, kMostShort), bytes / kLong, std::size_t{1}});
}
/// Longest error text of a failed encoding, in bytes.
constexpr std::size_t kMostWords = 304;

}  // namespace

/// Takes the number of segments that the executor derives from the size of the first one. If there
/// are very many, it is less than the wanted number.
StreamShape::StreamShape(std::size_t object, bool is_cut) noexcept
    : segments_{object + kEnd, is_cut ? segments_of(object + kEnd) : 1} {
  segments_.parts = segment_count(bytes(), segment(), bytes());
}

void StreamShape::end(std::span<std::byte> bytes, const std::string& problem) const noexcept {
  const std::uint64_t words = std::min(problem.size(), kMostWords);
  std::byte* const end = bytes.data() + object();
  if (words > 0) copy_bytes(end - words, problem.data(), words);
  std::memcpy(end, &words, sizeof words);
}

std::string StreamShape::problem_at(const std::byte* end) {
  std::uint64_t words = 0;
  std::memcpy(&words, end, sizeof words);
  if (words > kMostWords)
    throw Error{ErrorCode::mismatch,
                "the status word of an object has an impossible value; all ranks must run the same "
                "tutti"};
  return {reinterpret_cast<const char*>(end - words), static_cast<std::size_t>(words)};
}

/// The first segments are sent while later ones are encoded. The last one, which has the outcome,
/// is sent after the encoding.
void ObjectSource::encode(const Encode& encode) {
  const std::span<std::byte> all{memory_, shape_.bytes()};
  const std::span<std::byte> object = all.first(shape_.object());
  try {
    Encoder encoder{object, *this};
    encode(encoder);
    if (encoder.size() != object.size())
      throw Error{ErrorCode::object, "it takes " + std::to_string(encoder.size()) +
                                         " bytes after " + std::to_string(object.size()) +
                                         " were counted; a Codec must write the same bytes in "
                                         "every call"};
  } catch (...) {
    engine_.failures().attempt([] {});  // throws if the communicator failed, not the codec
    problem_ = words_of_exception();
  }
  shape_.end(all, problem_);
  advance(shape_.bytes());
}

std::size_t ObjectSource::encoded(std::size_t bytes) {
  if (bytes > 0) advance(bytes);
  return shape_.segments().offset(++segment_);
}

void ObjectSource::advance(std::size_t bytes) {
  encoded_ = bytes;
  if (run_ != nullptr) engine_.failures().attempt([this] { run_->resume(); });
  engine_.progress().test(operation_);
}

void ObjectSource::stays(std::size_t /*segment*/, const Completion& /*wait*/) {
  expects(false, "a root waits for nothing");
}

ObjectArrivals::ObjectArrivals(Transport& transport, const StreamShape& shape, std::byte* memory,
                               int lanes)
    : transport_{transport}, shape_{shape}, memory_{memory},
      kept_{static_cast<std::size_t>(lanes) / 2}, copied_{shape.segments().parts} {
  for (std::size_t i = 0; i < copied_; ++i)
    arrived_.push_back({memory + shape.segments().offset(i)});
}

/// Copies the expected segments if too many of them would stay at the root, which could not send
/// the others meanwhile. The last segment stays until the end, since it has the outcome of the
/// encoding.
void ObjectArrivals::expect(std::size_t from, std::size_t bytes) {
  const Partition& segments = shape_.segments();
  while (segments.offset(first_ + 1) <= from) end_access(first_++);
  wanted_ = std::max(wanted_, first_ + 1);
  while (segments.offset(wanted_) < from + bytes) ++wanted_;
  if (wanted_ - first_ <= kept_) return;
  copied_ = std::max(copied_, wanted_);
  for (std::size_t segment = first_; segment < wanted_; ++segment) copy(segment);
}

std::span<const std::byte> ObjectArrivals::read(std::size_t from, std::size_t bytes) {
  const Partition& segments = shape_.segments();
  const auto is_apart = [&](std::size_t segment) {
    return arrived_[segment].at + segments.size(segment) != arrived_[segment + 1].at;
  };
  std::size_t end = first_ + 1;
  while (end < wanted_ && !is_apart(end - 1)) ++end;
  if (segments.offset(end) < from + bytes) {
    for (std::size_t segment = first_; segment < wanted_; ++segment) copy(segment);
    end = wanted_;
  }
  return {arrived_[first_].at + (from - segments.offset(first_)), segments.offset(end) - from};
}

void ObjectArrivals::leave() {
  copied_ = arrived_.size();
  is_decoding_ = false;
  for (std::size_t segment = first_; segment < arrived_.size(); ++segment) end_access(segment);
}

void ObjectArrivals::stays(std::size_t segment, const Completion& wait) {
  arrived_[segment].at = wait.data;
  arrived_[segment].access = wait.access;
  if (segment < first_) end_access(segment);  // not needed any more
  else if (segment < copied_) copy(segment);
}

void ObjectArrivals::arrived(std::size_t segment) noexcept {
  arrived_[segment].is_there = true;
  while (there_ < arrived_.size() && arrived_[there_].is_there) ++there_;
}

void ObjectArrivals::end_access(std::size_t segment) {
  Arrival& arrival = arrived_[segment];
  if (arrival.access != kNoAccess)
    transport_.signal(std::exchange(arrival.access, kNoAccess), false);
}

void ObjectArrivals::copy(std::size_t segment) {
  Arrival& arrival = arrived_[segment];
  if (arrival.access == kNoAccess) return;
  const std::size_t offset = shape_.segments().offset(segment);
  copy_bytes(memory_ + offset, arrival.at, shape_.segments().size(segment));
  arrival.at = memory_ + offset;
  end_access(segment);
}

}  // namespace tutti::v0::detail
