/// @file
/// Reduction operators: built-in ones and the user's own.
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

/// A user's reduction on a GPU: enqueues it on a stream (a cudaStream_t), for elements in memory of
/// the GPU. <tutti/cuda_operator.cuh> makes one of a device functor. An exception fails the
/// communicator.
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
  /// order of ranks are chosen: the result is x0 op x1 op ... op x(n-1).
  template <std::convertible_to<UserFunction> Function>
  Operator(Function&& function, bool commutative)
      : kind_{OperatorKind::user}, commutative_{commutative},
        functions_{std::make_shared<const Functions>(
            Functions{UserFunction{std::forward<Function>(function)}, {}})} {}

  /// @param function the same reduction on a GPU. @return a new operator that also runs on GPUs.
  [[nodiscard]] Operator with_device(DeviceFunction function) const {
    Operator other{*this};
    other.functions_ = std::make_shared<const Functions>(
        Functions{functions_ ? functions_->host : UserFunction{}, std::move(function)});
    return other;
  }

  /// @return the kind of operator.
  [[nodiscard]] OperatorKind kind() const noexcept { return kind_; }
  /// @return whether operands may be exchanged.
  [[nodiscard]] bool commutative() const noexcept { return commutative_; }
  /// @return the user's function, or null for built-in operators.
  [[nodiscard]] const UserFunction* function() const noexcept {
    return functions_ ? &functions_->host : nullptr;
  }
  /// @return the user's function on a GPU, or null.
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
/// The least element. If any rank has a NaN the result is NaN, on every rank and with every
/// algorithm; the same holds for max. MPIs differ: they compare operands as `a < b ? a : b`, so the
/// result depends on the rank that has the NaN, and ranks may get different results.
inline const Operator min{OperatorKind::min};
inline const Operator max{OperatorKind::max};  ///< The greatest element; NaN as for min.
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
