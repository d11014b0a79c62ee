/// @file
/// Reduction operators: the built-in ones and the user's own.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include <tutti/export.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

/// A user's reduction: out[i] = left[i] op right[i] for i in [0, count). `out` may be `left` or
/// `right`. The elements have the datatype of the call. It must be associative.
using UserFunction =
    std::function<void(const void* left, const void* right, void* out, std::size_t count)>;

/// The same on a GPU: enqueues it on a stream (a cudaStream_t), for elements in memory of the GPU.
/// <tutti/cuda_operator.cuh> makes one of a device functor. What it throws fails the communicator.
using DeviceFunction = std::function<void(const void* left, const void* right, void* out,
                                          std::size_t count, void* stream)>;

/// A reduction operator as a value: cheap to copy, comparable.
class TUTTI_API Operator {
 public:
  /// A built-in operator. @param kind any enumerator but user.
  constexpr Operator(OperatorKind kind) noexcept
      : kind_{kind} {}  // NOLINT(google-explicit-constructor)

  /// A user's operator.
  /// @param function applied element by element; see UserFunction.
  /// @param commutative whether operands may be exchanged. If not, only algorithms that keep the
  ///        order of ranks are chosen: the result is x0 op x1 op ... op x(n-1).
  template <std::convertible_to<UserFunction> Function>
  Operator(Function&& function, bool commutative)
      : kind_{OperatorKind::user}, commutative_{commutative},
        functions_{std::make_shared<const Functions>(
            Functions{UserFunction{std::forward<Function>(function)}, {}})} {}

  /// @param function what a user's operator does on a GPU; the same as on the host. @return that
  /// operator, which is another one than this.
  [[nodiscard]] Operator with_device(DeviceFunction function) const {
    Operator other{*this};
    other.functions_ = std::make_shared<const Functions>(
        Functions{functions_ ? functions_->host : UserFunction{}, std::move(function)});
    return other;
  }

  /// @return which operator it is.
  [[nodiscard]] OperatorKind kind() const noexcept { return kind_; }
  /// @return whether operands may be exchanged.
  [[nodiscard]] bool commutative() const noexcept { return commutative_; }
  /// @return the user's function, or null for built-in operators.
  [[nodiscard]] const UserFunction* function() const noexcept {
    return functions_ ? &functions_->host : nullptr;
  }
  /// @return what it does on a GPU, or null.
  [[nodiscard]] const DeviceFunction* device_function() const noexcept {
    return functions_ && functions_->device ? &functions_->device : nullptr;
  }

 private:
  OperatorKind kind_;
  bool commutative_ = true;
  struct Functions {
    UserFunction host{};
    DeviceFunction device{};
  };
  std::shared_ptr<const Functions> functions_{};
};

inline const Operator sum{OperatorKind::sum};    ///< See OperatorKind::sum.
inline const Operator prod{OperatorKind::prod};  ///< See OperatorKind::prod.
/// The least element. Where any rank has a NaN the result is NaN, on every rank and with every
/// algorithm, as is that of max. MPIs differ: they compare operands as `a < b ? a : b`, so that a
/// NaN wins or vanishes by its place among the ranks, and ranks may get different results.
inline const Operator min{OperatorKind::min};
inline const Operator max{OperatorKind::max};                  ///< The greatest; NaN as of min.
inline const Operator min_loc{OperatorKind::min_loc};          ///< See OperatorKind::min_loc.
inline const Operator max_loc{OperatorKind::max_loc};          ///< See OperatorKind::max_loc.
inline const Operator logical_and{OperatorKind::logical_and};  ///< See OperatorKind::logical_and.
inline const Operator logical_or{OperatorKind::logical_or};    ///< See OperatorKind::logical_or.
inline const Operator logical_xor{OperatorKind::logical_xor};  ///< See OperatorKind::logical_xor.
inline const Operator bit_and{OperatorKind::bit_and};          ///< See OperatorKind::bit_and.
inline const Operator bit_or{OperatorKind::bit_or};            ///< See OperatorKind::bit_or.
inline const Operator bit_xor{OperatorKind::bit_xor};          ///< See OperatorKind::bit_xor.
inline const Operator average{OperatorKind::average};          ///< See OperatorKind::average.

}  // namespace tutti::v0
