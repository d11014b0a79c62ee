/// @file
/// Broadcast of an object that is encoded while it is sent, and decoded while it arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tutti/call.hpp>
#include <tutti/codec.hpp>
#include <tutti/object_call.hpp>
#include <tutti/spi/contract.hpp>

#include "collectives/execution/execution.hpp"

namespace tutti::v0::detail {

class Engine;
class ObjectOperation;

/// The layout of a streamed object in messages. A status word follows the object: 0, or the length
/// of the error text that replaces the object's last bytes if it could not be encoded.
class StreamShape {
 public:
  /// @param object its bytes, more than kStreamedBytes. @param is_cut whether it travels in
  /// segments; ranks that share cores gain nothing from them, and lose the core at each.
  StreamShape(std::size_t object, bool is_cut) noexcept;

  [[nodiscard]] std::size_t object() const noexcept { return segments_.count - kEnd; }
  /// @return bytes of the object and its status word.
  [[nodiscard]] std::size_t bytes() const noexcept { return segments_.count; }
  /// @return the most bytes of a segment, for Options::segment.
  [[nodiscard]] std::size_t segment() const noexcept { return segments_.size(0); }
  [[nodiscard]] const Partition& segments() const noexcept { return segments_; }
  /// Stores the status word. @param bytes of all segments. @param problem the error text, or empty.
  void end(std::span<std::byte> bytes, const std::string& problem) const noexcept;
  /// @param end the status word. @return the error text, or empty. Throws Error{mismatch} for an
  /// impossible length.
  [[nodiscard]] static std::string problem_at(const std::byte* end);

  static constexpr std::size_t kEnd = sizeof(std::uint64_t);

 private:
  Partition segments_;
};

/// The root's part: an object whose first bytes are sent while later ones are encoded.
class ObjectSource final : public Partitioned, public Outlet {
 public:
  using Encode = std::function<void(Encoder&)>;

  /// @param engine moves the bytes. @param operation that owns this. @param memory for
  /// StreamShape::bytes.
  ObjectSource(Engine& engine, const ObjectOperation& operation, const StreamShape& shape,
               std::byte* memory) noexcept
      : engine_{engine}, operation_{operation}, shape_{shape}, memory_{memory} {}

  /// Encodes the object. @param encode writes it, once. Throws the communicator's Error.
  void encode(const Encode& encode);
  /// Sets the run that moves the bytes. It is resumed after each encoded part.
  void follow(Execution& run) noexcept { run_ = &run; }
  /// @return the object and its status word.
  [[nodiscard]] std::byte* bytes() noexcept { return memory_; }
  /// @return the error text of the encoding, or empty.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  [[nodiscard]] bool is_ready(std::size_t segment) noexcept override {
    return shape_.segments().offset(segment + 1) <= encoded_;
  }
  void stays(std::size_t segment, const Completion& wait) override;
  void arrived(std::size_t /*segment*/) noexcept override {}
  std::size_t encoded(std::size_t bytes) override;

 private:
  void advance(std::size_t bytes);

  Engine& engine_;
  const ObjectOperation& operation_;
  StreamShape shape_;
  std::byte* memory_;
  Execution* run_ = nullptr;
  std::size_t encoded_ = 0;
  std::size_t segment_ = 0;  // the one that is being encoded
  std::string problem_{};
};

/// The part of a rank that receives. Segments arrive in `memory`. While the object is decoded, they
/// may stay in the sender's memory instead, until they are decoded, or until the decoder needs them
/// contiguous with segments in another place.
class ObjectArrivals final : public Partitioned {
 public:
  /// @param transport releases the sender's memory. @param memory for StreamShape::bytes.
  /// @param lanes segments in flight.
  ObjectArrivals(Transport& transport, const StreamShape& shape, std::byte* memory, int lanes);

  /// Lets segments stay in the sender's memory. The caller then uses expect() and read(), until
  /// leave().
  void begin_decoding() noexcept {
    copied_ = 0;
    is_decoding_ = true;
  }
  [[nodiscard]] bool is_decoding() const noexcept { return is_decoding_; }
  /// Sets the bytes that are needed next, and releases all before them. Throws as
  /// Transport::signal.
  void expect(std::size_t from, std::size_t bytes);
  /// Whether the expected bytes have arrived.
  [[nodiscard]] bool done() const noexcept { return there_ >= wanted_; }
  /// @return the expected bytes, contiguous, with those that follow them in the same memory. Throws
  /// as Transport::signal.
  [[nodiscard]] std::span<const std::byte> read(std::size_t from, std::size_t bytes);
  /// Ends the decoding, and releases all segments. Later ones are copied.
  void leave();
  [[nodiscard]] const StreamShape& shape() const noexcept { return shape_; }

  [[nodiscard]] bool is_ready(std::size_t /*segment*/) noexcept override { return true; }
  void stays(std::size_t segment, const Completion& wait) override;
  void arrived(std::size_t segment) noexcept override;

 private:
  struct Arrival {
    const std::byte* at;
    AccessId access = kNoAccess;
    bool is_there = false;
  };
  void end_access(std::size_t segment);
  void copy(std::size_t segment);

  Transport& transport_;
  StreamShape shape_;
  std::byte* memory_;
  std::size_t kept_;  // segments that may stay at the sender while another one is awaited
  std::vector<Arrival> arrived_;
  std::size_t there_ = 0;   // all segments before this one have arrived
  std::size_t first_ = 0;   // first expected segment
  std::size_t wanted_ = 0;  // behind the last expected segment
  std::size_t copied_;      // segments before this one do not stay at the sender
  bool is_decoding_ = false;
};

}  // namespace tutti::v0::detail
