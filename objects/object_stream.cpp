#include "object_stream.hpp"

#include <algorithm>
#include <cstring>

#include <tutti/error.hpp>
#include <tutti/spi/copy.hpp>

#include "collectives/engine.hpp"
#include "object_operation.hpp"

namespace tutti::v0::detail {
namespace {

/// What is on its way is that much, and stays in the caches from when it is encoded until it is
/// decoded; shorter segments cost more than they save.
constexpr std::size_t kSegmentBytes = 64_KiB;
/// Of why an object could not be encoded.
constexpr std::size_t kMostWords = 304;

}  // namespace

/// So many segments as the executor makes of the size of the first, which of very many are fewer
/// than were wanted.
StreamShape::StreamShape(std::size_t object, bool is_cut) noexcept
    : segments_{object + kEnd,
                is_cut ? std::max<std::size_t>((object + kEnd) / kSegmentBytes, 1) : 1} {
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
                "behind an object stands what no rank of tutti writes there; all ranks must run "
                "the same tutti"};
  return {reinterpret_cast<const char*>(end - words), static_cast<std::size_t>(words)};
}

/// The first segments go while later ones are encoded. The last one goes when it is known how that
/// ended.
void ObjectSource::encode(const Encode& encode) {
  const std::span<std::byte> all{memory_, shape_.bytes()};
  const std::span<std::byte> object = all.first(shape_.object());
  try {
    Encoder encoder{object, *this};
    encode(encoder);
    if (encoder.size() != object.size())
      throw Error{ErrorCode::object, "it takes " + std::to_string(encoder.size()) +
                                         " bytes after " + std::to_string(object.size()) +
                                         " were counted; a Codec must write the same whenever it "
                                         "is called"};
  } catch (...) {
    engine_.failures().attempt([] {});  // what ends the communicator is no problem of the codec
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
  for (std::size_t i = 0; i < copied_; ++i) parts_.push_back({memory + shape.segments().offset(i)});
}

/// As many segments as would keep the root from sending the others are copied. The last one stays
/// until the end: it says how encoding ended.
void ObjectArrivals::expect(std::size_t from, std::size_t bytes) {
  const Partition& segments = shape_.segments();
  while (segments.offset(first_ + 1) <= from) end_access(first_++);
  wanted_ = std::max(wanted_, first_ + 1);
  while (segments.offset(wanted_) < from + bytes) ++wanted_;
  if (wanted_ - first_ <= kept_) return;
  copied_ = std::max(copied_, wanted_);
  for (std::size_t segment = first_; segment < wanted_; ++segment) copy(segment);
}

std::span<const std::byte> ObjectArrivals::take(std::size_t from, std::size_t bytes) {
  const Partition& segments = shape_.segments();
  const auto is_apart = [&](std::size_t segment) {
    return parts_[segment].at + segments.size(segment) != parts_[segment + 1].at;
  };
  std::size_t end = first_ + 1;
  while (end < wanted_ && !is_apart(end - 1)) ++end;
  if (segments.offset(end) < from + bytes) {
    for (std::size_t segment = first_; segment < wanted_; ++segment) copy(segment);
    end = wanted_;
  }
  return {parts_[first_].at + (from - segments.offset(first_)), segments.offset(end) - from};
}

void ObjectArrivals::leave() {
  copied_ = parts_.size();
  is_decoding_ = false;
  for (std::size_t segment = first_; segment < parts_.size(); ++segment) end_access(segment);
}

void ObjectArrivals::stays(std::size_t segment, const Completion& wait) {
  parts_[segment].at = wait.data;
  parts_[segment].access = wait.access;
  if (segment < first_) end_access(segment);  // it is not wanted any more
  else if (segment < copied_) copy(segment);
}

void ObjectArrivals::arrived(std::size_t segment) noexcept {
  parts_[segment].is_there = true;
  while (there_ < parts_.size() && parts_[there_].is_there) ++there_;
}

void ObjectArrivals::end_access(std::size_t segment) {
  Part& part = parts_[segment];
  if (part.access != kNoAccess) transport_.signal(std::exchange(part.access, kNoAccess), false);
}

void ObjectArrivals::copy(std::size_t segment) {
  Part& part = parts_[segment];
  if (part.access == kNoAccess) return;
  const std::size_t offset = shape_.segments().offset(segment);
  copy_bytes(memory_ + offset, part.at, shape_.segments().size(segment));
  part.at = memory_ + offset;
  end_access(segment);
}

StreamShape ObjectOperation::stream_of(std::size_t object) const noexcept {
  return {object, !engine_.shares_cores()};
}

bool ObjectOperation::is_streamed() const noexcept {
  return call_.kind == Kind::broadcast && size_ > 1 && frames_[0].size > kStreamedBytes;
}

void ObjectOperation::start_stream() {
  stage_ = Stage::payload;
  const StreamShape shape = stream_of(frames_[0].size);
  if (!is_root()) {
    payload_ = engine_.payloads().take(shape.bytes());
    arrivals_ = std::make_unique<ObjectArrivals>(engine_.transport(), shape, payload_.data.get(),
                                                 engine_.options().segments_in_flight);
  }
  const std::span bytes{is_root() ? source_->bytes() : payload_.data.get(), shape.bytes()};
  Partitioned* const partitions =
      is_root() ? static_cast<Partitioned*>(source_.get()) : arrivals_.get();
  start_later(call::broadcast(bytes, call_.root), {.segment = shape.segment()}, partitions);
  expects(executions_.back()->binding().segments == shape.segments().parts,
          "both count the same segments");
}

void ObjectOperation::started() {
  if (source_) source_->encode(call_.again);
}

std::size_t ObjectOperation::begin_decoding() noexcept {
  arrivals_->begin_decoding();
  return arrivals_->shape().object();
}

std::span<const std::byte> ObjectOperation::await(std::size_t from, std::size_t bytes) {
  engine_.failures().attempt([&] { arrivals_->expect(from, bytes); });
  engine_.progress().wait_until([this] { return arrivals_->done(); });
  return engine_.failures().attempt([&] { return arrivals_->take(from, bytes); });
}

/// How encoding ended is read before the sender has its bytes back.
void ObjectOperation::end_decoding() {
  if (!is_decoding()) return;
  const std::byte* const end = await(arrivals_->shape().object(), StreamShape::kEnd).data();
  engine_.failures().attempt([&] {
    end_ = StreamShape::problem_at(end);
    arrivals_->leave();
  });
}

std::string ObjectOperation::words_of_end() const {
  if (source_) return source_->problem();
  if (end_) return *end_;
  return StreamShape::problem_at(payload_.data.get() + arrivals_->shape().object());
}

}  // namespace tutti::v0::detail
