/// @file
/// Calls of one communicator in a batch.
#pragma once

#include <vector>

#include "collectives/binding/check_call.hpp"

#include "host_calls.hpp"

namespace tutti::v0::detail {

/// Keeps the calls of one communicator that start together at the end of a batch, and those of them
/// that the batch waits for.
class BatchCalls {
 public:
  /// @param calls live longer.
  explicit BatchCalls(HostCalls& calls) noexcept : calls_{calls} {}

  /// How a call runs: how long, and whether the batch waits for it, and owns it.
  struct Enlistment {
    Duration timeout{0};
    bool blocks = false;
  };
  /// Notes that a call will start with others. Throws as HostCalls::check_start.
  void add(Execution& execution, const void* in, void* out, const Enlistment& how);
  /// Forgets it again, if it is one.
  void remove(Execution& execution) noexcept;
  /// Calls a function of each execution that has not started, and of the bytes that it will touch.
  template <class Function>
  void for_each(Function function) const {
    for (const Enlisted& call : enlisted_) {
      const Binding& binding = call.execution->binding();
      function(*call.execution,
               touched_bytes(binding.layout(), binding.element_bytes, call.in, call.out));
    }
  }
  /// Starts them. Throws the first failure.
  void start();
  /// Whether a call that blocks is pending, and may come to an end.
  [[nodiscard]] bool has_awaited() const noexcept;
  /// Polls for such calls once. Throws the first failure. @return whether anything moved.
  bool step_awaited();
  /// Waits for all of them. Throws the first failure.
  void wait_awaited();
  /// Forgets calls that have not started, and gives back those that blocked.
  void end() noexcept;

 private:
  struct Enlisted {
    Execution* execution;
    const void* in;
    void* out;
    Enlistment how;
  };

  HostCalls& calls_;
  std::vector<Enlisted> enlisted_{};
  std::vector<Execution*> awaited_{};
};

}  // namespace tutti::v0::detail
