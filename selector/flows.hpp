/// @file
/// Messages that travel at the same time and share links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// Each flow follows a path of channels. Rates are max-min fair: no flow can get a higher rate
/// unless a flow with at most its rate gets a lower one (Bertsekas, Gallager 1992, 6.5.2). Times
/// are in nanoseconds.
class Flows {
 public:
  /// @param capacities bytes per nanosecond of each channel, more than 0.
  explicit Flows(std::vector<double> capacities);

  /// Starts a flow. @param path distinct channels; a flow without any ends at once. @param tag
  /// pass() returns it when the flow ends.
  void start(std::span<const int> path, double bytes, std::size_t tag);
  /// @return the time until the next flow ends, or infinity if there is none.
  [[nodiscard]] double until_next();
  /// Advances the time. @param time at most until_next(). @param ended gets the tags of flows that
  /// end, in the order of their starts.
  void pass(double time, std::vector<std::size_t>& ended);
  /// @return the number of flows under way.
  [[nodiscard]] std::size_t size() const noexcept { return flows_.size(); }
  /// @return bytes that each channel has carried.
  [[nodiscard]] const std::vector<double>& carried() const noexcept { return carried_; }

 private:
  struct Flow {
    std::vector<int> path{};
    double left = 0;  // bytes
    double rate = 0;
    std::size_t tag = 0;
  };
  struct Channel {
    double capacity = 0;
    double left = 0;  // of the capacity, during share_out
    int flows = 0;    // without a rate
  };
  void share_out();
  [[nodiscard]] double least_share();

  std::vector<Channel> channels_;
  std::vector<int> used_{};  // channels with flows
  std::vector<Flow> flows_{};
  std::vector<double> carried_;
  bool is_shared_ = true;
};

}  // namespace tutti::v0
