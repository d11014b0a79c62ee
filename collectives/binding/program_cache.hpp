/// @file
/// The cache of programs: shapes of calls, what was chosen and lowered for them, and executions
/// that are idle.
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

/// Keeps what may be used again, the most recently used first, within a budget of bytes. The shape
/// used last stays, with one execution, so that a loop over one shape never allocates.
class ProgramCache {
 public:
  struct Shape;
  /// An execution and whose it is. It goes from list to list, which allocates nothing.
  struct CachedExecution {
    Execution execution;
    Shape* shape;
    std::size_t counted = 0;  ///< Of its bytes, in the budget: none while it is in use.

    CachedExecution(Outbox& outbox, Scratch& scratch, Shape& owner, int instances)
        : execution{outbox, scratch, owner.binding, instances}, shape{&owner} {}
  };
  /// A shape that was bound.
  struct Shape {
    ShapeKey key;  // views into the members below
    std::string algorithm;
    std::string transport;
    std::vector<std::size_t> counts;
    std::vector<std::size_t> in_counts;
    std::vector<std::size_t> out_counts;
    std::shared_ptr<const Binding> binding{};
    std::list<CachedExecution> idle{};  // the one used last first
    std::size_t users = 0;
    std::size_t counted = 0;  // of its bytes, without those of executions
    std::size_t hash = 0;

    explicit Shape(const ShapeKey& shape);
  };

  /// @param outbox and @param scratch of executions. @param calls forgets shapes that are evicted.
  /// @param budget bytes of all that nobody uses. @param instances of an execution at most.
  ProgramCache(Outbox& outbox, Scratch& scratch, CallCounter& calls, std::size_t budget,
               int instances) noexcept
      : outbox_{outbox}, self_{outbox.transport().self()}, scratch_{scratch}, calls_{calls},
        budget_{budget}, instances_{instances} {}

  /// @return the shape of a call, the first one from now on, or null.
  [[nodiscard]] Shape* find(const Call& call, const Options& options);
  /// @return a shape that was not there, with what was bound for it.
  Shape& add(const Call& call, const Options& options, std::shared_ptr<const Binding> binding);
  /// @return an execution that is idle, which stays here.
  [[nodiscard]] CachedExecution& idle(Shape& shape);
  /// Counts bytes anew, which a run may have changed.
  void recount(CachedExecution& held) noexcept;
  /// The same of a shape without executions, whose programs a call on a stream may have made.
  void recount(Shape& shape) noexcept;
  /// Moves the first idle execution to the front of a list. @return it.
  Execution& acquire(Shape& shape, std::list<CachedExecution>& to) noexcept;
  /// Moves it back. @param from its list. @param held its place there.
  void put_back(std::list<CachedExecution>& from,
                std::list<CachedExecution>::iterator held) noexcept;
  /// Forgets what nobody uses, the least recently used first, until the budget is met.
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
