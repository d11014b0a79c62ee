/// @file
/// Memory that a program reads and writes on a stream.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <tutti/error.hpp>
#include <tutti/spi/streams.hpp>

#include "collectives/lowering/binding.hpp"

namespace tutti::v0::detail {

/// Device memory of a section of the stream: from the construction of this object to its end.
class StreamMemory {
 public:
  StreamMemory(std::size_t bytes, StreamTransport& streams, Stream stream)
      : streams_{streams}, stream_{stream}, data_{bytes == 0 ? nullptr
                                                             : streams.allocate(bytes, stream)} {}
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory() {
    if (data_ != nullptr) streams_.deallocate(data_, stream_);
  }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  StreamTransport& streams_;
  Stream stream_;
  std::byte* data_;
};

/// The places of a program's run.
class StreamPlaces {
 public:
  StreamPlaces(const Program& program, RunBuffers buffers, StreamTransport& streams, Stream stream)
      : in_{static_cast<const std::byte*>(buffers.in)}, out_{static_cast<std::byte*>(buffers.out)},
        held_{program.held_bytes, streams, stream} {}
  /// @param place in no message. @return its address.
  [[nodiscard]] std::byte* at(const Place& place) const {
    switch (place.base) {
      // Nothing writes through a pointer into the input.
      case Base::in: return const_cast<std::byte*>(in_) + place.offset;
      case Base::out: return out_ + place.offset;
      case Base::held: return held_.data() + place.offset;
      case Base::message:
      case Base::result: break;
    }
    expects(false, "a place in a message has no address that the host knows");
    return nullptr;
  }

 private:
  const std::byte* in_;
  std::byte* out_;
  StreamMemory held_;
};

/// The input of a call. In place, a result of an all_to_all, or of a message in both directions,
/// may lie where an input is that was not sent yet, so the input is copied first.
class StreamInput {
 public:
  StreamInput(const Binding& binding, RunBuffers buffers, StreamTransport& streams, Stream stream)
      : in_{static_cast<const std::byte*>(buffers.in)}, in_place_{is_in_place(binding, buffers)} {
    if (!in_place_ || !is_between_pairs(binding.layout().contract().collective)) return;
    const std::size_t bytes = binding.layout().in_total() * binding.element_bytes;
    copy_.emplace(bytes, streams, stream);
    streams.copy(copy_->data(), in_, bytes, stream);
    in_ = copy_->data();
    in_place_ = false;
  }
  [[nodiscard]] const std::byte* data() const noexcept { return in_; }
  [[nodiscard]] bool is_shared() const noexcept { return in_place_; }

 private:
  const std::byte* in_;
  bool in_place_;
  std::optional<StreamMemory> copy_{};
};

/// @return the bytes of all pieces of a message.
[[nodiscard]] inline std::size_t bytes_of(std::span<const PlacedPiece> pieces) noexcept {
  std::size_t bytes = 0;
  for (const PlacedPiece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

}  // namespace tutti::v0::detail
