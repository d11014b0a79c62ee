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
/// not in its memory; without, arrays that the host cannot access. All arguments are the program's,
/// and otherwise checked. Throws Error{invalid_argument}.
void check_streams(Communicator& world, std::span<const Parameter> parameters,
                   const GradientOptions& options);
/// Rejects arrays that are not in memory of the communicator's GPU. @param group has one.
/// @param arrays of the program. @param stream of it. Throws Error{invalid_argument}.
void check_on_device(Communicator& group, std::span<const Parameter> arrays, Stream stream);

/// The program's stream makes gradients, and one of our own reduces them. Each waits for points of
/// the other, and the host for neither.
class GradientStreams {
 public:
  /// @param groups of a GradientSync, the first of all ranks; they live longer. @param program its
  /// stream. Throws Error.
  GradientStreams(std::span<Communicator> groups, Stream program);
  GradientStreams(const GradientStreams&) = delete;
  GradientStreams& operator=(const GradientStreams&) = delete;
  /// Waits until all enqueued work is done, at most a call's timeout; then aborts it.
  ~GradientStreams();

  /// @return the stream of our own.
  [[nodiscard]] Stream own() const noexcept { return own_; }
  /// @return whether ranks see each other's buckets.
  [[nodiscard]] bool are_seen() const { return transports_.front()->peers() != nullptr; }

  /// Makes memory for buckets, of any plan. Collective. @param bytes by group, equal on all ranks.
  /// Throws std::bad_alloc, Error.
  void allocate(std::span<const std::size_t> bytes);
  /// @return whether that was done.
  [[nodiscard]] bool has_memory() const noexcept { return !memory_.empty(); }
  /// @param bytes of a bucket. @return its bytes of the memory.
  [[nodiscard]] static std::size_t padded(std::size_t bytes) noexcept {
    constexpr std::size_t kLine = 256;
    return (bytes + kLine - 1) / kLine * kLine;
  }
  /// Divides the memory into buckets; those of a plan before must not be used any more, but by
  /// what is enqueued. @param groups by bucket. @param bytes by bucket. @return the buckets.
  [[nodiscard]] std::vector<Buffer<std::byte>> divide(std::span<const std::uint32_t> groups,
                                                      std::span<const std::size_t> bytes);

  /// By any thread. Throws Error{invalid_argument} where the program's stream is captured.
  void check_program() const;
  /// Keeps where the program's stream is. By any thread, but of one bucket one at a time. @param
  /// bucket whose gradients are enqueued. Throws Error.
  void mark(std::size_t bucket);
  /// Our stream waits for that. @param bucket whose mark was asked for. @return whether there is
  /// one; without it our stream must not touch what the program's stream may be at. Throws Error.
  [[nodiscard]] bool await_program(std::size_t bucket);
  /// The program's stream waits for ours. Throws Error.
  void hold_program();
  /// Waits until the program's stream has done all that was enqueued, and asks each group what
  /// failed. @param timeout how long. Throws Error.
  void wait(Duration timeout);
  /// Enqueues a copy on our stream. Throws Error.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);
  /// Enqueues zeros on our stream. Throws Error.
  void clear(std::byte* to, std::size_t bytes);
  /// Enqueues a conversion on our stream. @param work see Conversion. Throws Error.
  void convert(const Conversion& work);
  /// @param bytes more than zero. @return memory in the order of our stream, which lives no longer
  /// than this. Throws std::bad_alloc, Error.
  [[nodiscard]] std::shared_ptr<std::byte> allocate_scratch(std::size_t bytes);
  /// Enqueues on our stream that elements are looked at. @param type of them. @param data where
  /// they are. @param with_hash whether a hash is wanted. @param seed of it. Throws Error.
  void inspect(Datatype type, const std::byte* data, std::size_t count, bool with_hash,
               std::uint64_t seed);
  /// Waits until our stream is done. @param timeout how long; zero: the communicator's. @return
  /// what was seen since the last call. Throws Error.
  [[nodiscard]] Inspected inspected(Duration timeout);
  /// @param bytes of the GPU, as they are where both streams are now. @param timeout see above.
  /// @return a hash of them. Throws Error.
  [[nodiscard]] std::uint64_t hash_of(std::span<const std::byte> bytes, Duration timeout);
  /// Has functions that the calling thread calls find its GPU. Throws Error.
  void adopt_thread() const { transports_.front()->adopt_thread(); }
  /// Fails all that is enqueued, so that streams go on. @param cause why.
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
  std::shared_ptr<std::byte> sums_{};                 // of what was seen, where that is wanted
  std::vector<Inspected> seen_{};  // a copy, which lives until it is there even where a wait fails
  bool is_aborted_ = false;
};

}  // namespace tutti::v0::detail
