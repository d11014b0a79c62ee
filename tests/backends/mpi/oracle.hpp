/// @file
/// The expected result of a collective, by plain loops over all ranks: no kernel, partition or MPI.
#pragma once

#include <algorithm>
#include <vector>

#include <tutti/operators.hpp>

namespace tutti::test {

/// The arguments of a call.
struct Task {
  std::size_t count = 0;  ///< Elements per block, or of the vector where there are no blocks.
  Rank root = 0;
  OperatorKind op = OperatorKind::sum;
};

/// Inputs and results of one call on `size` ranks. Values are whole numbers below 2^24, different
/// for every rank and index, so that sums are exact in float as well.
class Oracle {
 public:
  Oracle(Collective collective, int size, const Task& task)
      : collective_{collective}, size_{size}, task_{task} {}

  Rank root() const { return task_.root; }
  Operator op() const { return task_.op; }
  std::size_t in_count() const { return has_blocks_in() ? all() : base(); }
  std::size_t out_count() const {
    const bool blocks = collective_ == Collective::gather ||
                        collective_ == Collective::all_gather ||
                        collective_ == Collective::all_to_all;
    return blocks ? all() : base();
  }
  bool has_result(Rank rank) const {
    if (collective_ == Collective::exscan) return rank > 0;
    const bool at_root = collective_ == Collective::reduce || collective_ == Collective::gather;
    return collective_ != Collective::barrier && (!at_root || rank == task_.root);
  }

  template <class T>
  std::vector<T> input(Rank rank) const {
    std::vector<T> data(in_count());
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<T>(value(rank, i));
    return data;
  }
  template <class T>
  std::vector<T> expected(Rank rank) const {
    std::vector<T> data(out_count());
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<T>(result(rank, i));
    return data;
  }

 private:
  std::size_t base() const { return collective_ == Collective::barrier ? 0 : task_.count; }
  std::size_t all() const { return base() * static_cast<std::size_t>(size_); }
  bool has_blocks_in() const {
    return collective_ == Collective::scatter || collective_ == Collective::reduce_scatter ||
           collective_ == Collective::all_to_all;
  }
  static long value(Rank rank, std::size_t index) {
    return 150001L * (rank + 1) + static_cast<long>(index);
  }
  long reduced(std::size_t index) const { return reduced(index, size_); }
  long reduced(std::size_t index, int ranks) const {
    long total = value(0, index);
    for (Rank rank = 1; rank < ranks; ++rank)
      total = task_.op == OperatorKind::max ? std::max(total, value(rank, index))
                                            : total + value(rank, index);
    return total;
  }
  long result(Rank rank, std::size_t i) const {
    const std::size_t own = static_cast<std::size_t>(rank) * task_.count + i;
    switch (collective_) {
      case Collective::all_reduce:
      case Collective::reduce: return reduced(i);
      case Collective::broadcast: return value(task_.root, i);
      case Collective::scatter: return value(task_.root, own);
      case Collective::gather:
      case Collective::all_gather:
        return value(static_cast<Rank>(i / task_.count), i % task_.count);
      case Collective::reduce_scatter: return reduced(own);
      case Collective::all_to_all:
        return value(static_cast<Rank>(i / task_.count),
                     static_cast<std::size_t>(rank) * task_.count + i % task_.count);
      case Collective::scan: return reduced(i, rank + 1);
      case Collective::exscan: return reduced(i, rank);
      case Collective::barrier: return 0;
    }
    return 0;
  }

  Collective collective_;
  int size_;
  Task task_;
};

}  // namespace tutti::test
