/// @file
/// What the machine can do: an all_reduce of plain loads and stores, and nothing else.
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

/// The yardstick beside our algorithms, over memory that all ranks of one host map. Up to a cache
/// line of payload it is a line that goes from rank 0 to rank 1 and back. Beyond, every rank waits
/// for the others, sums its share of all inputs and stores the sums to every rank's output (past
/// the caches from a few MiB on), and waits again. It checks, selects and watches nothing.
class Probe {
 public:
  /// @param workload any. @param communicator its ranks. @return why there is no probe for it, or
  /// nothing.
  [[nodiscard]] static std::string refusal(const Workload& workload, Communicator& communicator);

  /// Collective. @param workload for which there is a probe. @param communicator its ranks.
  /// Throws Error{transport}.
  Probe(const Workload& workload, Communicator& communicator);
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe();

  /// Writes the own input anew.
  void refresh() noexcept;
  /// Runs once, with the other ranks.
  void run() noexcept;
  /// @return the own output.
  [[nodiscard]] std::span<const float> output() const noexcept { return {outputs_[self_], count_}; }
  /// Reads the own output as an application would: every cache line. @return something to keep.
  [[nodiscard]] std::uint64_t read() const noexcept;

 private:
  // A cache line that one rank writes.
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
