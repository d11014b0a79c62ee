/// @file
/// Catalog: which algorithms there are to choose from, tutti's own and others.
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

/// Schedules of one algorithm that are written down instead of computed.
class ScheduleTable {
 public:
  /// A number of ranks and the root, 0 where there is none.
  using Key = std::pair<int, Rank>;

  /// @param root of these. @param schedules one of every rank, in order. They replace what was
  /// there for as many ranks and this root.
  void add(Rank root, std::vector<Schedule> schedules) {
    const Key key{static_cast<int>(schedules.size()), root};
    schedules_[key] = std::move(schedules);
  }
  /// @param key of what is wanted. @return one schedule of every rank, or none.
  [[nodiscard]] std::span<const Schedule> find(const Key& key) const {
    const auto found = schedules_.find(key);
    return found == schedules_.end() ? std::span<const Schedule>{} : found->second;
  }
  /// @return what there is, ascending.
  [[nodiscard]] const std::map<Key, std::vector<Schedule>>& all() const noexcept {
    return schedules_;
  }

 private:
  std::map<Key, std::vector<Schedule>> schedules_{};
};

/// Refuses a number of ranks for which nothing is written down. Throws Error{invalid_argument}.
/// @param table of schedules. @param size number of ranks.
TUTTI_API void require(const ScheduleTable& table, int size);

/// Algorithms to choose from, grouped by collective: tutti's own, and those that are added. A
/// value; a communicator is made with one (CommunicatorOptions::catalog) and then considers all its
/// rows alike, but proves what was added, for its number of ranks and the root of the call, before
/// it runs. Rows that cannot be proved are left out, and are an error if they are asked for.
class TUTTI_API Catalog {
 public:
  /// tutti's own algorithms.
  Catalog();

  /// Adds an algorithm, whose texts are copied. Throws Error{invalid_argument} where its name is
  /// taken in its collective, or is no word of small letters, digits and underscores, or it has
  /// nothing that builds schedules. @param row the algorithm; `build` must be a pure function.
  void add(const Algorithm& row);
  /// Adds an algorithm whose schedules are written down. Throws as add. @param row without `build`.
  /// @param table of its schedules.
  void add(Algorithm row, ScheduleTable table);

  /// @return all of them. They stay where they are as long as a copy of this catalog lives.
  [[nodiscard]] std::span<const Algorithm* const> rows() const noexcept { return rows_; }
  /// @param collective any. @param name of an algorithm. @return that one, or null.
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

/// @param choice any. @return whether it is, or is made of, an algorithm that was added.
[[nodiscard]] TUTTI_API bool is_added(const Choice& choice) noexcept;

/// Reads a choice. Throws Error{invalid_argument} that names the offender, the choices and the
/// nearest name. @param catalog what may be chosen; outlives the choice. @param collective which
/// rows are meant. @param text such as "knomial:k=4". @return the choice.
[[nodiscard]] TUTTI_API Choice parse_choice(const Catalog& catalog, Collective collective,
                                            std::string_view text);

/// What a module for `tutti --load` defines, as `extern "C"`: it adds its algorithms.
/// @param catalog to which they are added.
using AddAlgorithms = void (*)(Catalog& catalog);
/// The name of that function.
inline constexpr const char* kAddAlgorithms = "tutti_add_algorithms";

}  // namespace tutti::v0
