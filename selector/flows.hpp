/// @file
/// Messages that are under way at the same time and share links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// Each flow takes a path of channels, and all get rates that are max-min fair: no flow could be
/// quicker without one that is no quicker than it becoming slower (Bertsekas, Gallager
/// 1992, 6.5.2). Times in nanoseconds.
class Flows {
 public:
  /// @param capacities bytes in a nanosecond, by channel; all more than 0.
  explicit Flows(std::vector<double> capacities);

  /// A flow starts. @param path channels, each once; none for a flow that ends at once. @param tag
  /// returned when it ends.
  void start(std::span<const int> path, double bytes, std::size_t tag);
  /// @return how long it takes until the next flow ends, or infinity if there is none.
  [[nodiscard]] double until_next();
  /// Time passes. @param time no more than until_next(). @param ended tags of the flows that end
  /// are added to it, in the order in which they began.
  void pass(double time, std::vector<std::size_t>& ended);
  /// @return how many flows are under way.
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
    double left = 0;  // of it, while rates are shared out
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
