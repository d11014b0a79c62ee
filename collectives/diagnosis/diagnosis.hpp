/// @file
/// The diagnosis of calls: whether they may run, and which rank is at fault if they cannot.
#pragma once

#include <memory>
#include <utility>

#include <tutti/spi/group.hpp>
#include <tutti/spi/transport.hpp>

#include "collectives/execution/call_order.hpp"

#include "failures.hpp"

namespace tutti::v0::detail {

/// The order of this rank's calls, the answers to other ranks that ask for them, and the first
/// failure.
class Diagnosis {
 public:
  /// The transport and the group outlive this. @param group asks the other ranks, or null.
  /// @param failure_signal of the other ranks, or null.
  Diagnosis(Transport& transport, std::shared_ptr<CallCounter> counter, Group* group,
            std::shared_ptr<const FailureSignal> failure_signal)
      : counter_{std::move(counter)}, order_{transport.capabilities().tags, kUserTags},
        failures_{transport, order_, *counter_, group, std::move(failure_signal)} {}

  [[nodiscard]] CallCounter& counter() noexcept { return *counter_; }
  [[nodiscard]] const CallCounter& counter() const noexcept { return *counter_; }
  [[nodiscard]] CallOrder& order() noexcept { return order_; }
  [[nodiscard]] Failures& failures() noexcept { return failures_; }

 private:
  std::shared_ptr<CallCounter> counter_;
  CallOrder order_;
  Failures failures_;
};

}  // namespace tutti::v0::detail
