/// @file
/// Catalog: the algorithms to choose from, tutti's own and added ones.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/spi/algorithm.hpp>

namespace tutti::v0 {

/// Written-down schedules of one algorithm.
class ScheduleTable {
 public:
  /// A number of ranks and the root, or 0.
  using Key = std::pair<int, Rank>;

  /// Adds schedules, or replaces those for as many ranks and this root.
  /// @param schedules one of every rank, in order.
  void add(Rank root, std::vector<Schedule> schedules) {
    const Key key{static_cast<int>(schedules.size()), root};
    schedules_[key] = std::move(schedules);
  }
  /// @return one schedule of every rank, or none.
  [[nodiscard]] std::span<const Schedule> find(const Key& key) const {
    const auto found = schedules_.find(key);
    return found == schedules_.end() ? std::span<const Schedule>{} : found->second;
  }
  /// @return all schedules, by ascending key.
  [[nodiscard]] const std::map<Key, std::vector<Schedule>>& all() const noexcept {
    return schedules_;
  }

 private:
  std::map<Key, std::vector<Schedule>> schedules_{};
};

/// Throws Error{invalid_argument} if there are no schedules for a number of ranks.
TUTTI_API void require(const ScheduleTable& table, int size);

/// Algorithms to choose from, grouped by collective: tutti's own, and added ones. A value. A
/// communicator is made with one (CommunicatorOptions::catalog) and considers all its rows alike.
/// It proves added rows, for its number of ranks and the root of the call, before they run. A row
/// that cannot be proved is left out, and is an error if a call names it.
class TUTTI_API Catalog {
 public:
  /// tutti's own algorithms.
  Catalog();

  /// Adds an algorithm; copies its texts. Throws Error{invalid_argument} if the collective has the
  /// name, if the name has other characters than lower-case letters, digits and underscores, or if
  /// `build` is null.
  /// @param row `build` must be a pure function.
  void add(const Algorithm& row);
  /// Adds a written-down algorithm. Throws as add. @param row without `build`.
  void add(Algorithm row, ScheduleTable table);

  /// @return all rows. They live as long as a copy of this catalog.
  [[nodiscard]] std::span<const Algorithm* const> rows() const noexcept { return rows_; }
  /// @return the algorithm of that name, or null.
  [[nodiscard]] const Algorithm* find(Collective collective, std::string_view name) const noexcept;

 private:
  struct Added {
    std::string name{};
    std::string summary{};
    Algorithm row{};
    ScheduleTable table{};
  };
  void add_row(std::shared_ptr<Added> added);
  std::vector<std::shared_ptr<const Added>> added_{};
  std::vector<const Algorithm*> rows_{};
};

/// @return whether the choice is, or is made of, an added algorithm.
[[nodiscard]] TUTTI_API bool is_added(const Choice& choice) noexcept;

/// Reads a choice. Throws Error{invalid_argument} that names the wrong part, the choices and the
/// nearest name.
/// @param catalog must outlive the choice. @param text such as "knomial:k=4".
[[nodiscard]] TUTTI_API Choice parse_choice(const Catalog& catalog, Collective collective,
                                            std::string_view text);

/// The function that a module for `tutti --load` defines as `extern "C"`: it adds its algorithms.
using AddAlgorithms = void (*)(Catalog& catalog);
/// The name of that function.
inline constexpr const char* kAddAlgorithms = "tutti_add_algorithms";

}  // namespace tutti::v0
