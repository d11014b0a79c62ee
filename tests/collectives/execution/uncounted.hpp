/// @file
/// Wraps transports whose allocations are not counted.
#pragma once

#include <span>

#include "tests/support/replaced_new.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {

/// The simulated cluster may allocate; the engine around it is what is measured.
class Uncounted final : public Wrapper {
 public:
  using Wrapper::Wrapper;
  void post(std::span<const Transfer> transfers) override {
    const Count off{false};
    Wrapper::post(transfers);
  }
  void poll() override {
    const Count off{false};
    Wrapper::poll();
  }
  void signal(AccessId access, bool is_stored) override {
    const Count off{false};
    Wrapper::signal(access, is_stored);
  }
};

}  // namespace tutti::harness
