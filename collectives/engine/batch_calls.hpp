/// @file
/// The calls of one communicator in a batch.
#pragma once

#include <vector>

#include "collectives/binding/check_call.hpp"

#include "host_calls.hpp"

namespace tutti::v0::detail {

/// Keeps the calls of one communicator that start together at the end of a batch, and waits for the
/// blocking ones.
class BatchCalls {
 public:
  /// @param calls outlive this.
  explicit BatchCalls(HostCalls& calls) noexcept : calls_{calls} {}

  /// The terms of a call.
  struct Enlistment {
    Duration timeout{0};
    bool blocks = false;  ///< Whether the batch waits for it, and owns it.
  };
  /// Adds a call, which starts with the others. Throws as HostCalls::check_start.
  void add(Execution& execution, const void* in, void* out, const Enlistment& how);
  /// Removes a call, if it was added and has not started.
  void remove(Execution& execution) noexcept;
  /// Calls function(execution, bytes that it will touch) for each call that has not started.
  template <class Function>
  void for_each(Function function) const {
    for (const Enlisted& call : enlisted_) {
      const Binding& binding = call.execution->binding();
      function(*call.execution,
               touched_bytes(binding.layout(), binding.element_bytes, call.in, call.out));
    }
  }
  /// Starts all calls. Throws the first failure.
  void start();
  /// Whether a blocking call is pending, and the communicator has not failed.
  [[nodiscard]] bool has_awaited() const noexcept;
  /// Polls once for the blocking calls. Throws the first failure. @return whether anything moved.
  bool step_awaited();
  /// Waits for all blocking calls. Throws the first failure.
  void wait_awaited();
  /// Drops calls that have not started, and gives back the blocking ones.
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
