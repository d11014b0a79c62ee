/// @file
/// The speed of the machine: an all_reduce of plain loads and stores.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>

#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// A lower bound for the times of algorithms, in memory that all ranks of one host map. Up to a
/// cache line of payload, rank 0 sends a line to rank 1 and back. Above, every rank waits for the
/// others, sums its share of all inputs, stores the sums to every rank's output (past the caches
/// from a few MiB on), and waits again. It has no checks, no selection and no deadlines.
class Probe {
 public:
  /// @return the reason why there is no probe for this workload, or nothing.
  [[nodiscard]] static std::string refusal(const Workload& workload, Communicator& communicator);

  /// Collective. There must be no refusal. Throws Error{transport}.
  Probe(const Workload& workload, Communicator& communicator);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe();

  /// Writes this rank's input again.
  void refresh() noexcept;
  /// Runs once. All ranks call it.
  void run() noexcept;
  /// @return this rank's output.
  [[nodiscard]] std::span<const float> output() const noexcept { return {outputs_[self_], count_}; }
  /// Reads every cache line of this rank's output, as an application would. @return a value that
  /// depends on it.
  [[nodiscard]] std::uint64_t read() const noexcept;

 private:
  /// A cache line that one rank writes.
  struct alignas(64) Line {
    std::atomic<std::uint64_t> turn;
  };
  [[nodiscard]] std::size_t region_bytes() const noexcept;
  void wait_for(std::size_t rank, std::uint64_t turn) const noexcept;
  void meet() noexcept;

  std::size_t self_;
  std::size_t size_;
  std::size_t count_;
  std::byte* region_ = nullptr;
  Line* lines_ = nullptr;  // one per rank
  std::vector<float*> inputs_{};
  std::vector<float*> outputs_{};
  std::uint64_t turn_ = 0;
  int spins_;
};

}  // namespace tutti::perf
