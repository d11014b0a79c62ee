/// @file
/// The cache of programs: shapes of calls, with their bindings and idle executions.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectives/execution/execution.hpp"

#include "shape_key.hpp"

namespace tutti::v0::detail {

/// Keeps shapes and executions for later calls within a budget of bytes, the most recently used
/// first. The last used shape stays with one execution, so that a loop over it never allocates.
class ProgramCache {
 public:
  struct Shape;
  /// An execution and its shape. It moves between lists without an allocation.
  struct CachedExecution {
    Execution execution;
    Shape* shape;
    std::size_t counted = 0;  ///< Its bytes in the budget; zero while it is in use.

    CachedExecution(Outbox& outbox, Scratch& scratch, Shape& owner, int instances)
        : execution{outbox, scratch, owner.binding, instances}, shape{&owner} {}
  };
  /// A shape with its binding and its idle executions.
  struct Shape {
    ShapeKey key;  // views into the members below
    std::string algorithm;
    std::string transport;
    std::vector<std::size_t> counts;
    std::vector<std::size_t> in_counts;
    std::vector<std::size_t> out_counts;
    std::shared_ptr<const Binding> binding{};
    std::list<CachedExecution> idle{};  // the last used first
    std::size_t users = 0;              // its executions in use
    std::size_t counted = 0;            // its bytes in the budget, without its executions
    std::size_t hash = 0;

    explicit Shape(const ShapeKey& shape);
  };

  /// @param calls forgets the descriptions of evicted shapes. @param budget bytes of shapes and
  /// idle executions. @param instances the most segments that an execution runs at once.
  ProgramCache(Outbox& outbox, Scratch& scratch, CallCounter& calls, std::size_t budget,
               int instances) noexcept
      : outbox_{outbox}, self_{outbox.transport().self()}, scratch_{scratch}, calls_{calls},
        budget_{budget}, instances_{instances} {}

  /// @return the shape of a call, which becomes the most recently used, or null.
  [[nodiscard]] Shape* find(const Call& call, const Options& options);
  /// Adds a shape that find() did not find. @return it.
  Shape& add(const Call& call, const Options& options, std::shared_ptr<const Binding> binding);
  /// @return an idle execution, a new one if there is none. It stays in the cache.
  [[nodiscard]] CachedExecution& idle(Shape& shape);
  /// Updates the bytes of an execution and its shape, which a run may have changed.
  void recount(CachedExecution& held) noexcept;
  /// Updates the bytes of a shape alone, whose programs a call on a stream may have made.
  void recount(Shape& shape) noexcept;
  /// Moves the first idle execution to the front of a list. @return it.
  Execution& acquire(Shape& shape, std::list<CachedExecution>& to) noexcept;
  /// Moves an execution back. @param from its list. @param held its position there.
  void put_back(std::list<CachedExecution>& from,
                std::list<CachedExecution>::iterator held) noexcept;
  /// Frees unused shapes and idle executions, the least recently used first, down to the budget.
  void evict() noexcept {
    if (bytes_ > budget_) evict_some();
  }

 private:
  void evict_some() noexcept;
  void count(std::size_t& counted, std::size_t now) noexcept {
    bytes_ += now - counted;
    counted = now;
  }

  Outbox& outbox_;
  Rank self_;
  Scratch& scratch_;
  CallCounter& calls_;
  std::size_t budget_;
  int instances_;
  std::list<Shape> shapes_{};
  std::unordered_multimap<std::size_t, std::list<Shape>::iterator> index_{};
  std::size_t bytes_ = 0;  // of shapes and idle executions
};

}  // namespace tutti::v0::detail
