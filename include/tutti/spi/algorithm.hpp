/// @file
/// An algorithm: a named generator of schedules, and the facts the verifier checks about it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/spi/schedule.hpp>

namespace tutti::v0 {

class Graph;
class ScheduleTable;
struct Hierarchy;

/// What a generator may know. Equal on all ranks.
struct Shape {
  int size = 1;                          ///< Number of ranks.
  Rank root = 0;                         ///< Of rooted collectives.
  int number = 2;                        ///< What the algorithm's parameter says, if it is one.
  std::vector<int> skips{};              ///< Of circulant graphs; empty means halving.
  std::shared_ptr<const Graph> graph{};  ///< The network, of algorithms shaped by it.
  std::shared_ptr<const Hierarchy> hierarchy{};  ///< Of algorithms made of others.
  const ScheduleTable* table = nullptr;          ///< Of algorithms that are written down.
};

/// Builds the schedule of one rank. Pure. @param shape equal on all ranks. @param self the rank.
using Build = Schedule (*)(const Shape& shape, Rank self);

/// In which cases a property holds, from nowhere to everywhere.
enum class When : std::uint8_t {
  never,         ///< For no interesting shape.
  root_is_zero,  ///< Where the root is rank 0.
  power_of_two,  ///< Where the number of ranks is a power of two.
  always         ///< For every shape.
};

/// Which numbers of ranks an algorithm serves.
enum class Sizes : std::uint8_t {
  any,           ///< 1, 2, 3, ...
  even,          ///< 1 and the even ones.
  power_of_two,  ///< 1, 2, 4, 8, ...
  slim_fly       ///< 1 and 2 q^2 for prime powers q from 3 on: 18, 32, 50, 98, ...
};

/// Which parameter an algorithm takes in a choice such as `knomial:k=4`.
enum class AlgorithmParameter : std::uint8_t {
  none,         ///< It takes none.
  radix,        ///< `k=`, at least 2.
  skips,        ///< `skips=`, numbers joined by `+`, descending to 1.
  blocks,       ///< `b=`, into how many blocks the vector is cut.
  servers,      ///< `s=`, how many ranks serve the others.
  in_flight,    ///< `k=`, how many transfers go on at a time.
  aggregation,  ///< `a=`, how many blocks one message has, a power of two.
  graph,        ///< `graph=`, as parse_graph reads it. Without a default.
  hierarchy     ///< Two algorithms and groups, see Hierarchy. Without a default.
};

/// @param when any. @return the enumerator's name, such as "root_is_zero".
[[nodiscard]] TUTTI_API std::string_view name_of(When when) noexcept;
/// @param sizes any. @return the enumerator's name, such as "power_of_two".
[[nodiscard]] TUTTI_API std::string_view name_of(Sizes sizes) noexcept;
/// @param parameter any. @return the enumerator's name, such as "radix".
[[nodiscard]] TUTTI_API std::string_view name_of(AlgorithmParameter parameter) noexcept;
/// @param parameter any. @return what stands before the `=`, such as "k"; empty for none.
[[nodiscard]] TUTTI_API std::string_view key_of(AlgorithmParameter parameter) noexcept;

/// @param parameter any. @return whether its value is one number.
[[nodiscard]] constexpr bool is_number(AlgorithmParameter parameter) noexcept {
  return parameter != AlgorithmParameter::none && parameter != AlgorithmParameter::skips &&
         parameter != AlgorithmParameter::graph && parameter != AlgorithmParameter::hierarchy;
}

/// Whether an algorithm's name alone is a choice. @param parameter of the algorithm. @return false
/// where the parameter must be given.
[[nodiscard]] constexpr bool has_default(AlgorithmParameter parameter) noexcept {
  return parameter != AlgorithmParameter::graph && parameter != AlgorithmParameter::hierarchy;
}

/// Facts about an algorithm. The verifier fails a row that claims too much or too little.
struct Traits {
  Sizes sizes = Sizes::any;            ///< Numbers of ranks served.
  When ordered = When::never;          ///< Keeps the operands in the order of ranks.
  When rank_identical = When::always;  ///< Gives the same bits on all ranks.
  When size_invariant = When::never;   ///< All elements have the same expression tree.
  bool rotational = false;             ///< Rank r's schedule is rank 0's, shifted by r.
  bool own_counts_only = false;        ///< Needs the counts of blocks it owns or wants, only.
  /// Rounds can be given numbers that grow on each rank, so that every message is sent and received
  /// in rounds of the same number. The verifier says where there are none.
  bool lockstep = true;
  /// Of size_invariant rows: the row of tutti's own for the same collective whose expression tree,
  /// with the default parameter, is that of this one with its own; empty if none. So calls of
  /// either give an element the same bits.
  std::string_view same_tree_as{};
};

/// One row of a catalog.
struct Algorithm {
  Collective collective{};                                  ///< What it computes.
  std::string_view name{};                                  ///< Spelled as in the literature.
  Build build = nullptr;                                    ///< The generator.
  Traits traits{};                                          ///< Checked facts.
  AlgorithmParameter parameter = AlgorithmParameter::none;  ///< What may follow its name.
  int default_number = 2;                                   ///< Of those that take a number.
  std::size_t segment_bytes = 0;         ///< Default segment; 0 runs the vector as a whole.
  std::string_view summary{};            ///< One line: when it wins, and its source.
  const ScheduleTable* table = nullptr;  ///< Of one that is written down: its catalog's.
};

/// @return all of tutti's own algorithms, grouped by collective. Catalog has those of others too.
[[nodiscard]] TUTTI_API std::span<const Algorithm> catalog() noexcept;

/// @param when a condition. @param size number of ranks. @param root the root, 0 where there is
/// none.
/// @return whether the condition is met.
[[nodiscard]] TUTTI_API bool holds(When when, int size, Rank root) noexcept;

/// @param sizes a restriction. @param size number of ranks. @return whether it admits that number.
[[nodiscard]] TUTTI_API bool admits(Sizes sizes, int size) noexcept;

/// Refuses a number of ranks that is not admitted. Throws Error{invalid_argument} that says what
/// is.
/// @param sizes a restriction. @param size number of ranks.
TUTTI_API void require(Sizes sizes, int size);

/// An algorithm with its parameters, as in `knomial:k=4`.
struct TUTTI_API Choice {
  const Algorithm* algorithm = nullptr;  ///< Never null once parsed.
  int number = 2;                        ///< Meaningful if the algorithm takes a number.
  std::vector<int> skips{};              ///< Meaningful if the algorithm takes skips.
  std::shared_ptr<const Graph> graph{};  ///< Null where the algorithm takes none or it is missing.
  std::shared_ptr<const Hierarchy> hierarchy{};  ///< Likewise.

  /// @param size number of ranks. @param root the root. @return what the generator is given.
  [[nodiscard]] Shape shape(int size, Rank root) const {
    return {size, root, number, skips, graph, hierarchy, algorithm->table};
  }
  /// @return the schedule. @param size number of ranks. @param root the root. @param self the rank.
  [[nodiscard]] Schedule build(int size, Rank root, Rank self) const {
    return algorithm->build(shape(size, root), self);
  }
  /// @return the algorithm as written before the colon: its name and, in brackets, the algorithms
  /// it is made of, such as "hierarchical(circulant, ring)".
  [[nodiscard]] std::string name() const;
  /// @return the parameters as written after the colon, such as "k=4"; empty if there are none.
  [[nodiscard]] std::string parameters() const;
  /// @return name and parameters as parse_choice reads them, such as "knomial:k=4".
  [[nodiscard]] std::string text() const;
};

/// Algorithms joined into one that goes by groups of ranks, such as those of one host:
/// `hierarchical(circulant, ring):groups=4`. An all_reduce reduces within each group, then between
/// the groups, and passes results back within each group. The ranks of equal index in their groups
/// are a lane; lanes work between the groups, each on its part of the vector. Where it says no
/// groups, a communicator that knows on which hosts its ranks are takes these.
struct Hierarchy {
  /// What runs within groups, between them and, in an all_reduce, within them again, there a
  /// reduce_scatter and its all_gather or, for one lane, a reduce and its broadcast. Of a broadcast
  /// on lanes, the all_gather within groups, what runs on the lanes, and the scatter in the root's
  /// group.
  std::vector<Choice> stages{};
  /// `groups=4`: one number is how many groups of consecutive ranks there are, their sizes as equal
  /// as can be, larger ones first; several, as in `groups=5+3`, are the sizes.
  std::vector<int> groups{};
  /// `ranks=0+1+0+1` in place of groups: the group of each rank.
  std::vector<int> group_of{};
  /// `lanes=1`: how many; 0 for as many as the smallest group has ranks, or one where the stage
  /// within groups has a root.
  int lanes = 0;

  /// @return whether it says what its groups are.
  [[nodiscard]] bool has_groups() const noexcept { return !groups.empty() || !group_of.empty(); }
};

/// Takes hosts as the groups of a hierarchy that says none. @param choice any. @param hosts a
/// number for each rank, equal for those of one host; empty if nobody knows. @return the choice,
/// with groups if it needs some and hosts are known.
[[nodiscard]] TUTTI_API Choice on_hosts(Choice choice, std::span<const int> hosts);

/// @param hierarchy any. @param size number of ranks. @return the ranks of each group, ascending.
/// Throws Error{invalid_argument} where its groups do not fit that number.
[[nodiscard]] TUTTI_API std::vector<std::vector<Rank>> groups_of(const Hierarchy& hierarchy,
                                                                 int size);

/// Refuses a number of ranks that a choice cannot serve, and a choice that lacks what has no
/// default. Throws Error{invalid_argument} that says why.
/// @param choice any. @param size number of ranks.
TUTTI_API void require(const Choice& choice, int size);

/// Reads a choice of tutti's own algorithms. Throws Error{invalid_argument} that names the
/// offender, the choices and the nearest name. @param collective which rows are meant. @param text
/// such as "knomial:k=4".
/// @return the choice.
[[nodiscard]] TUTTI_API Choice parse_choice(Collective collective, std::string_view text);

}  // namespace tutti::v0
