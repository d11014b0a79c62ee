/// @file
/// What may be asked of one call beside its data.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <tutti/determinism.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

inline namespace literals {
/// @param value a number. @return that many times 1024 bytes.
consteval std::size_t operator""_KiB(unsigned long long value) {
  return value << 10;
}
/// @param value a number. @return that many times 1024 * 1024 bytes.
consteval std::size_t operator""_MiB(unsigned long long value) {
  return value << 20;
}
}  // namespace literals

/// A queue of work of a GPU, or none.
class Stream {
 public:
  /// None: the call is the host's.
  constexpr Stream() = default;
  /// @param handle a live cudaStream_t or CUstream; null is the default stream that waits for
  /// others and they for it, also in programs that are compiled with one for each thread.
  constexpr Stream(void* handle) noexcept  // NOLINT(google-explicit-constructor)
      : handle_{handle}, is_some_{true} {}

  /// @return one of the communicator's own, for programs that have none: a call on it returns when
  /// its results are there, and what was to be done to its buffers before must be done.
  [[nodiscard]] static constexpr Stream own() noexcept {
    Stream stream{nullptr};
    stream.is_own_ = true;
    return stream;
  }

  /// @return whether there is one.
  [[nodiscard]] constexpr bool is_some() const noexcept { return is_some_; }
  /// @return whether it is the communicator's own.
  [[nodiscard]] constexpr bool is_own() const noexcept { return is_own_; }
  /// @return the handle.
  [[nodiscard]] constexpr void* handle() const noexcept { return handle_; }

 private:
  void* handle_ = nullptr;
  bool is_some_ = false;
  bool is_own_ = false;
};

/// What may be asked of one call beside its data.
struct Options {
  /// As Options::segment: run the vector as a whole.
  static constexpr std::size_t kWhole = ~std::size_t{0};

  std::string_view algorithm{};  ///< A choice such as "ring" or "knomial:k=4"; empty chooses.
  /// What messages go by where a world has several transports between hosts, such as "tcp" and
  /// "mpi"; empty chooses. Equal on all ranks.
  std::string_view transport{};
  std::size_t segment = 0;  ///< Bytes per pipelined segment; 0 takes the algorithm's default.
  /// Whether all ranks pass memory of Communicator::allocate, as they do where they pass a Buffer
  /// itself and need not say so. Then what is chosen suits memory that peers read and write in
  /// place. Equal on all ranks; where it is said and not so, calls are slow and right. On GPUs it
  /// is experimental, and without effect unless cuda::attach asks for it too.
  bool visible = false;
  /// Of the whole operation. Zero takes the communicator's, and Duration::max() is for ever. Less
  /// than zero is Error{invalid_argument}, since it may be what was left of a time that has run
  /// out: with one nanosecond the call misses its deadline, unless it ends at once.
  Duration timeout{0};
  /// What the bits of a reduction may depend on; empty takes the communicator's. Equal on all
  /// ranks.
  std::optional<Determinism> determinism{};
  /// Buffers in memory of a GPU: the call is enqueued on this stream, in whose order its buffers
  /// are read and written, and returns at once. It needs tutti::cuda::attach, see <tutti/cuda.hpp>.
  /// Results are there when the stream has got so far; what fails meanwhile the next call throws.
  /// Equal on all ranks whether there is one. There are no segments, and messages
  /// have no tags; the timeout is that of a wait.
  Stream stream{};
  /// Elements per block where blocks differ, equal on all ranks: one per rank, or, for all_to_all,
  /// one per pair of ranks, source-major. Empty: equal blocks. Read during the call only. Of a call
  /// whose vector is one block, a barrier or a message they are Error{invalid_argument}.
  std::span<const std::size_t> counts{};
};

}  // namespace tutti::v0
