/// @file
/// Object collectives on a simulated cluster: calls on all ranks at once, and what comes of them.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>

#include <gtest/gtest.h>

#include <tutti/objects.hpp>

#include "tests/objects/text.hpp"
#include "tests/support/world.hpp"

namespace tutti::harness {

/// Another type with as many bytes.
struct Point {
  double x = 0;
  double y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

/// The results of all ranks.
template <class T>
using Results = std::vector<std::optional<T>>;

/// @return a task that stores the result of a request.
template <class T>
Task task_of(Rank rank, ObjectRequest<T> request, std::optional<T>& result) {
  const auto shared = std::make_shared<ObjectRequest<T>>(std::move(request));
  return {.rank = rank, .test = [shared, &result] {
            if (!shared->test()) return false;
            result = shared->wait();
            return true;
          }};
}

/// Starts a call on every rank. @param start makes the request of a rank.
template <class Start>
auto start_all(World& world, std::vector<Task>& tasks, Start start) {
  using T = decltype(start(Rank{0}).wait());
  auto results = std::make_unique<Results<T>>(static_cast<std::size_t>(world.size()));
  for (Rank rank = 0; rank < world.size(); ++rank)
    tasks.push_back(task_of<T>(rank, start(rank), (*results)[static_cast<std::size_t>(rank)]));
  return results;
}

/// Makes a call on every rank, which must succeed. @return the results.
template <class Start>
auto call_all(World& world, Start start) {
  std::vector<Task> tasks;
  auto results = start_all(world, tasks, start);
  EXPECT_TRUE(world.drive(tasks, std::chrono::seconds{1}));
  for (const Task& task : tasks) {
    EXPECT_TRUE(task.done) << "rank " << task.rank << ": "
                           << (task.error ? task.error->what() : "pending");
    if (!task.done) throw std::runtime_error{"a call failed"};
  }
  return std::move(*results);
}

/// Makes a call on every rank, which must fail for all in the same words. @return them.
template <class Start>
Error fail_all(World& world, Start start) {
  std::vector<Task> tasks;
  const auto results = start_all(world, tasks, start);
  EXPECT_TRUE(world.drive(tasks, std::chrono::seconds{1}));
  for (const Task& task : tasks) {
    if (!task.error) {
      ADD_FAILURE() << "rank " << task.rank << " got no error";
      return {ErrorCode::bug, "none"};
    }
    EXPECT_EQ(task.error->code(), ErrorCode::object) << task.error->what();
    EXPECT_STREQ(task.error->what(), tasks[0].error->what());
    EXPECT_EQ(task.error->culprit(), tasks[0].error->culprit());
  }
  return *tasks[0].error;
}

inline void expect_usable(World& world) {
  const auto results =
      call_all(world, [&](Rank rank) { return objects(world[rank]).async().all_gather(rank); });
  for (const auto& all : results)
    for (Rank rank = 0; rank < world.size(); ++rank)
      EXPECT_EQ((*all)[static_cast<std::size_t>(rank)], rank);
}

/// @return what rank `from` gives to rank `to`, in a call of this number.
inline samples::Text given(Rank from, Rank to, std::size_t call) {
  const auto seed = static_cast<std::size_t>(from) * 31 + static_cast<std::size_t>(to) * 7 + call;
  return samples::text_of(samples::kLengths[seed % std::size(samples::kLengths)], seed);
}

inline std::vector<samples::Text> row_of(Rank from, int size, std::size_t call) {
  std::vector<samples::Text> row;
  for (Rank to = 0; to < size; ++to) row.push_back(given(from, to, call));
  return row;
}

inline std::vector<samples::Text> column_of(Rank to, int size, std::size_t call) {
  std::vector<samples::Text> column;
  for (Rank from = 0; from < size; ++from) column.push_back(given(from, to, call));
  return column;
}

inline samples::Text joined(samples::Text left, const samples::Text& right) {
  left.words += "+" + right.words;
  return left;
}

inline samples::Text reduction(int size, std::size_t call) {
  samples::Text all = given(0, 0, call);
  for (Rank rank = 1; rank < size; ++rank) all = joined(std::move(all), given(rank, 0, call));
  return all;
}

/// Numbers of ranks.
class ObjectsOn : public ::testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static int size() { return GetParam(); }
};

}  // namespace tutti::harness
