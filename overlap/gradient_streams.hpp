/// @file
/// Gradients in memory of a GPU: buckets there, and the stream on which they are reduced beside the
/// program's.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tutti/gradient_sync.hpp>
#include <tutti/spi/communicator.hpp>

namespace tutti::v0::detail {

/// With GradientOptions::stream, rejects options that do not exist on a GPU, and arrays that are
/// not in its memory. Without it, rejects arrays that the host cannot access. Other checks have
/// passed. Throws Error{invalid_argument}.
void check_streams(Communicator& world, std::span<const Parameter> parameters,
                   const GradientOptions& options);
/// Rejects arrays that are not in memory of the communicator's GPU. @param group has a GPU.
/// @param stream of the program. Throws Error{invalid_argument}.
void check_on_device(Communicator& group, std::span<const Parameter> arrays, Stream stream);

/// The program's stream, which computes gradients, and the library's own, which reduces them. Each
/// waits for points of the other, and the host for neither.
class GradientStreams {
 public:
  /// @param groups of a GradientSync, the first of all ranks; they outlive this. @param program the
  /// program's stream. Throws Error.
  GradientStreams(std::span<Communicator> groups, Stream program);
  GradientStreams(const GradientStreams&) = delete;
  GradientStreams& operator=(const GradientStreams&) = delete;
  /// Waits until all enqueued work is done, at most a call's timeout; then aborts it.
  ~GradientStreams();

  /// @return the own stream.
  [[nodiscard]] Stream own() const noexcept { return own_; }
  /// @return whether ranks see each other's buckets.
  [[nodiscard]] bool are_seen() const { return transports_.front()->peers() != nullptr; }

  /// Makes memory for buckets, of any plan. Collective. @param bytes by group, equal on all ranks.
  /// Throws std::bad_alloc, Error.
  void allocate(std::span<const std::size_t> bytes);
  /// @return whether allocate() was called.
  [[nodiscard]] bool has_memory() const noexcept { return !memory_.empty(); }
  /// @param bytes of a bucket. @return the bytes that it takes in this memory.
  [[nodiscard]] static std::size_t padded(std::size_t bytes) noexcept {
    constexpr std::size_t kLine = 256;
    return (bytes + kLine - 1) / kLine * kLine;
  }
  /// Divides the memory into buckets. From now on only enqueued work may use the buckets of an
  /// earlier plan. @param groups by bucket. @param bytes by bucket. @return the buckets.
  [[nodiscard]] std::vector<Buffer<std::byte>> divide(std::span<const std::uint32_t> groups,
                                                      std::span<const std::size_t> bytes);

  /// Throws Error{invalid_argument} if the program's stream is captured. Any thread may call this.
  void check_program() const;
  /// Marks the point of the program's stream at which a bucket's gradients are enqueued. Any thread
  /// may call this, for one bucket one at a time. Throws Error.
  void mark(std::size_t bucket);
  /// Makes the own stream wait for a bucket's mark. @return whether there is one; without it the
  /// own stream must not touch the bucket's gradients. Throws Error.
  [[nodiscard]] bool await_program(std::size_t bucket);
  /// Makes the program's stream wait for the own one. Throws Error.
  void hold_program();
  /// Waits until the program's stream has done all that was enqueued. Throws the Error of a group
  /// that failed, and Error{timeout}.
  void wait(Duration timeout);
  /// Enqueues a copy on the own stream. Throws Error.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);
  /// Enqueues zeros on the own stream. Throws Error.
  void clear(std::byte* to, std::size_t bytes);
  /// Enqueues a conversion on the own stream. Throws Error.
  void convert(const Conversion& work);
  /// @param bytes more than zero. @return memory in the order of the own stream, which must not
  /// outlive this. Throws std::bad_alloc, Error.
  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes);
  /// Enqueues an inspection of elements on the own stream. @param with_hash whether to compute a
  /// hash. @param seed of the hash. Throws Error.
  void inspect(Datatype type, const std::byte* data, std::size_t count, bool with_hash,
               std::uint64_t seed);
  /// Waits until the own stream is done. @param timeout zero: the communicator's. @return the
  /// findings since the last call. Throws Error.
  [[nodiscard]] Inspected inspected(Duration timeout);
  /// @param bytes of the GPU, after all that is enqueued now on both streams. @param timeout as of
  /// inspected(). @return a hash of them. Throws Error.
  [[nodiscard]] std::uint64_t hash_of(std::span<const std::byte> bytes, Duration timeout);
  /// Makes the GPU current in the calling thread. Throws Error.
  void adopt_thread() const { transports_.front()->adopt_thread(); }
  /// Fails all enqueued work, so that streams continue.
  void abort(const Error& cause) noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  void drain(Clock::time_point deadline) noexcept;
  void wait_for_own(Duration timeout);
  [[nodiscard]] Inspected* sums();

  std::span<Communicator> groups_;
  Stream program_;
  std::vector<std::shared_ptr<StreamTransport>> transports_{};  // by group
  Stream own_{};
  std::vector<std::shared_ptr<std::byte>> memory_{};  // by group
  std::vector<std::unique_ptr<StreamMark>> marks_{};  // by bucket
  std::shared_ptr<std::byte> sums_{};                 // findings, once there was an inspection
  std::vector<Inspected> seen_{};  // target of a copy, which outlives it even if a wait fails
  bool is_aborted_ = false;
};

}  // namespace tutti::v0::detail
