/// @file
/// The settings of one call beside its data.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include <tutti/determinism.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

inline namespace literals {
/// @return the value times 1024 bytes.
consteval std::size_t operator""_KiB(unsigned long long value) {
  return value << 10;
}
/// @return the value times 1024 * 1024 bytes.
consteval std::size_t operator""_MiB(unsigned long long value) {
  return value << 20;
}
}  // namespace literals

/// A stream of a GPU, or none.
class Stream {
 public:
  /// None: the call runs on the host.
  constexpr Stream() = default;
  /// @param handle a live cudaStream_t or CUstream. Null is the legacy default stream, also in
  /// programs that are compiled with a default stream per thread.
  constexpr Stream(void* handle) noexcept  // NOLINT(google-explicit-constructor)
      : handle_{handle}, is_some_{true} {}

  /// @return the communicator's own stream, for programs without one. A call on it returns when its
  /// results are complete. Earlier work on its buffers must be done before the call.
  [[nodiscard]] static constexpr Stream own() noexcept {
    Stream stream{nullptr};
    stream.is_own_ = true;
    return stream;
  }

  /// @return whether this is a stream.
  [[nodiscard]] constexpr bool is_some() const noexcept { return is_some_; }
  /// @return whether this is the communicator's own stream.
  [[nodiscard]] constexpr bool is_own() const noexcept { return is_own_; }
  /// @return the handle of the stream, or null.
  [[nodiscard]] constexpr void* handle() const noexcept { return handle_; }

 private:
  void* handle_ = nullptr;
  bool is_some_ = false;
  bool is_own_ = false;
};

/// The settings of one call beside its data.
struct Options {
  /// Value of `segment`: run the vector as a whole.
  static constexpr std::size_t kWhole = ~std::size_t{0};

  /// A choice such as "ring" or "knomial:k=4"; empty: tutti chooses.
  std::string_view algorithm{};
  /// Transport of the messages, such as "tcp" or "mpi", if the world has several between hosts;
  /// empty: tutti chooses. Equal on all ranks.
  std::string_view transport{};
  std::size_t segment = 0;  ///< Bytes per pipelined segment; 0: the algorithm's default.
  /// Whether all ranks pass memory of Communicator::allocate; a call with a Buffer sets it. The
  /// choice then suits memory that peers read and write in place. Equal on all ranks. If it is true
  /// for other memory, results are right but calls are slow. On GPUs it is experimental, and has an
  /// effect only if cuda::attach has `visible` too.
  bool visible = false;
  /// Deadline of the whole operation. Zero: the communicator's; Duration::max(): none. Less than
  /// zero is Error{invalid_argument}. With one nanosecond, a call misses its deadline unless it
  /// ends at once.
  Duration timeout{0};
  /// Level of determinism of a reduction; empty: the communicator's. Equal on all ranks.
  std::optional<Determinism> determinism{};
  /// The stream for buffers in memory of a GPU: the call is enqueued on it and returns at once. It
  /// needs tutti::cuda::attach, see <tutti/cuda.hpp>. Results are complete when the stream has
  /// reached that point; the next call throws an error of an earlier one. All ranks pass a stream,
  /// or none does. There are no segments, and messages have no tags; the timeout is that of a wait.
  Stream stream{};
  /// Elements per block if blocks differ, equal on all ranks: one per rank, or, for all_to_all, one
  /// per pair of ranks, source-major. Empty: equal blocks. Read during the call only. For a call
  /// whose vector is one block, a barrier or a message they are Error{invalid_argument}.
  std::span<const std::size_t> counts{};
};

}  // namespace tutti::v0
