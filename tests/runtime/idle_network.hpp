/// @file
/// A network of the user's for worlds that never use it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <tutti/spi/costs.hpp>
#include <tutti/spi/init.hpp>

namespace tutti::test {

/// A network without messages.
class IdleNetwork final : public Network {
 public:
  [[nodiscard]] std::unique_ptr<Transport> transport(std::span<const Rank>, std::uint64_t,
                                                     std::shared_ptr<FailureSignal>) override {
    throw Error{ErrorCode::bug, "there is nobody to reach"};
  }
  [[nodiscard]] std::string name() const override { return "MPI"; }
  [[nodiscard]] CostModel cost_model() const override { return {}; }
};

}  // namespace tutti::test
