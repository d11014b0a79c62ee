/// @file
/// The buckets of a GradientSync and their memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tutti/communicator.hpp>

#include "bucket_reduction.hpp"
#include "gradient_plan.hpp"
#include "readiness.hpp"
#include "sync_setup.hpp"

namespace tutti::v0::detail {

/// Owns the plan and the memory of its buckets, and moves gradients between the program's arrays
/// and buckets.
class GradientBuckets {
 public:
  explicit GradientBuckets(SyncSetup& setup) : setup_{setup}, kept_(setup.parameters.size()) {}
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// Collective: makes a plan and its memory. @param order of parameters in buckets.
  void adopt(std::span<const std::size_t> order);
  /// @return the plan; always the same object.
  [[nodiscard]] const GradientPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::size_t size() const noexcept { return plan_.buckets.size(); }
  [[nodiscard]] const Bucket& operator[](std::size_t bucket) const noexcept {
    return plan_.buckets[bucket];
  }
  [[nodiscard]] Communicator& ranks_of(std::size_t bucket) const noexcept {
    return setup_.groups[plan_.buckets[bucket].group];
  }
  [[nodiscard]] std::span<std::byte> memory_of(std::size_t bucket) noexcept;
  /// @return the first byte of a parameter in its bucket.
  [[nodiscard]] std::byte* address_of(std::size_t parameter) noexcept {
    return memory_of(plan_.locations[parameter].bucket).data() + plan_.locations[parameter].offset;
  }
  /// @return whether peers see a bucket's memory.
  [[nodiscard]] bool is_visible(std::size_t bucket) const;
  /// @return the block of a bucket that this rank owns.
  [[nodiscard]] Block own_block(std::size_t bucket) const;
  /// @return the shards of parameters in a block. @param data of the block; may be null.
  [[nodiscard]] std::vector<ParameterShard> shards_in(std::size_t bucket, const Block& block,
                                                      std::byte* data) const;

  /// Copies the program's gradients into a bucket, if they lie elsewhere; unused ones become zeros.
  /// @param inspects whether to look for elements that are not finite. @return the first parameter
  /// that has one.
  std::optional<std::size_t> load(std::size_t bucket, const Readiness& readiness, bool inspects);
  /// Copies a result out of its bucket, if the program wants it elsewhere.
  void store(std::size_t parameter);
  /// Copies back a gradient that load has replaced by zeros, if it lies in its bucket.
  void put_back(std::size_t parameter);
  /// Frees the copies for put_back.
  void forget_kept() noexcept;

 private:
  [[nodiscard]] std::vector<Buffer<std::byte>> make_buffers();
  [[nodiscard]] std::vector<Buffer<std::byte>> make_buffers_on_gpu();
  void keep(std::size_t parameter);

  SyncSetup& setup_;
  GradientPlan plan_{};
  std::vector<Buffer<std::byte>> buffers_{};      // by bucket; empty if its memory is the program's
  std::vector<std::size_t> shard_offsets_{};      // by bucket: as ParameterShard::offset
  std::vector<std::shared_ptr<std::byte>> kept_;  // by parameter: an unused gradient
};

}  // namespace tutti::v0::detail
