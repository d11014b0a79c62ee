// MPICH's selection file is a tree of nested objects. A key is a condition, tried in the order of
// the file; at the leaves it is an algorithm. A call that reaches no leaf ends the program. So this
// file has lines for each collective that MPICH looks up, and the condition of the last line of
// each always holds. Traps: sizes are integers of 32 bits. avg_msg_size is not set for collectives
// of blocks, and total_msg_size counts elements, not bytes, for gather and scatter. comm_size<N
// sometimes means <=.
#include "perf/tuning/export_mpich.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tutti::perf {

namespace {

// Conditions, separated by slashes, which become nested keys; and the algorithm: the end of its
// name, and its parameters, separated by spaces.
struct MpichLine {
  std::string_view collective;
  std::string_view when;
  std::string_view runs;
};

constexpr std::string_view kAlways = "comm_size=any";
constexpr std::string_view kInter = "comm_type=inter";
constexpr std::string_view kInPlace = "is_sendbuf_inplace=yes";
constexpr std::size_t kMostBytes = std::numeric_limits<std::int32_t>::max();

// Rules for calls that were not measured, or whose best algorithm MPICH lacks. Blocking calls
// change their algorithms at the sizes of Thakur, Rabenseifner and Gropp (Optimization of
// Collective Communication Operations in MPICH, 2005). The others run algorithms that support every
// call.
constexpr std::array kUntuned{
    MpichLine{"allgather", kInter, "inter_local_gather_remote_bcast"},
    MpichLine{"allgather", "comm_size=pow2/total_msg_size<=524287", "intra_recursive_doubling"},
    MpichLine{"allgather", "comm_size=pow2/total_msg_size=any", "intra_ring"},
    MpichLine{"allgather", "total_msg_size<=81919", "intra_brucks"},
    MpichLine{"allgather", kAlways, "intra_ring"},
    MpichLine{"allgatherv", kInter, "inter_remote_gather_local_bcast"},
    MpichLine{"allgatherv", "comm_size=pow2/total_msg_size<=524287", "intra_recursive_doubling"},
    MpichLine{"allgatherv", "comm_size=pow2/total_msg_size=any", "intra_ring"},
    MpichLine{"allgatherv", "total_msg_size<=81919", "intra_brucks"},
    MpichLine{"allgatherv", kAlways, "intra_ring"},
    MpichLine{"allreduce", kInter, "inter_reduce_exchange_bcast"},
    MpichLine{"allreduce", "avg_msg_size<=2048", "intra_recursive_doubling"},
    MpichLine{"allreduce", "is_op_built_in=no", "intra_recursive_doubling"},
    MpichLine{"allreduce", "count<pow2", "intra_recursive_doubling"},
    MpichLine{"allreduce", kAlways, "intra_reduce_scatter_allgather"},
    MpichLine{"alltoall", kInter, "inter_pairwise_exchange"},
    MpichLine{"alltoall", kInPlace, "intra_pairwise_sendrecv_replace"},
    MpichLine{"alltoall", "comm_size<=7/avg_msg_size<=32768", "intra_scattered"},
    MpichLine{"alltoall", "comm_size<=7/avg_msg_size=any", "intra_pairwise"},
    MpichLine{"alltoall", "avg_msg_size<=256", "intra_brucks"},
    MpichLine{"alltoall", "avg_msg_size<=32768", "intra_scattered"},
    MpichLine{"alltoall", kAlways, "intra_pairwise"},
    MpichLine{"alltoallv", kInter, "inter_pairwise_exchange"},
    MpichLine{"alltoallv", kInPlace, "intra_pairwise_sendrecv_replace"},
    MpichLine{"alltoallv", kAlways, "intra_scattered"},
    MpichLine{"alltoallw", kInter, "inter_pairwise_exchange"},
    MpichLine{"alltoallw", kInPlace, "intra_pairwise_sendrecv_replace"},
    MpichLine{"alltoallw", kAlways, "intra_scattered"}, MpichLine{"barrier", kInter, "inter_bcast"},
    MpichLine{"barrier", "comm_hierarchy=parent", "intra_smp"},
    MpichLine{"barrier", kAlways, "intra_dissemination"},
    MpichLine{"bcast", kInter, "inter_remote_send_local_bcast"},
    MpichLine{"bcast", "comm_size<=7", "intra_binomial"},
    MpichLine{"bcast", "avg_msg_size<=12288", "intra_binomial"},
    MpichLine{"bcast", "comm_size=pow2/avg_msg_size<=524288",
              "intra_scatter_recursive_doubling_allgather"},
    MpichLine{"bcast", "comm_size=pow2/avg_msg_size=any", "intra_scatter_ring_allgather"},
    MpichLine{"bcast", kAlways, "intra_scatter_ring_allgather"},
    MpichLine{"exscan", kAlways, "intra_recursive_doubling"},
    MpichLine{"gather", kInter, "inter_linear"}, MpichLine{"gather", kAlways, "intra_binomial"},
    MpichLine{"gatherv", kAlways, "allcomm_linear"},
    MpichLine{"neighbor_allgather", kAlways, "allcomm_nb"},
    MpichLine{"neighbor_allgatherv", kAlways, "allcomm_nb"},
    MpichLine{"neighbor_alltoall", kAlways, "allcomm_nb"},
    MpichLine{"neighbor_alltoallv", kAlways, "allcomm_nb"},
    MpichLine{"neighbor_alltoallw", kAlways, "allcomm_nb"},
    MpichLine{"reduce", kInter, "inter_local_reduce_remote_send"},
    MpichLine{"reduce", "avg_msg_size<=2048", "intra_binomial"},
    MpichLine{"reduce", "is_op_built_in=no", "intra_binomial"},
    MpichLine{"reduce", "count<pow2", "intra_binomial"},
    MpichLine{"reduce", kAlways, "intra_reduce_scatter_gather"},
    MpichLine{"reduce_scatter", kInter, "inter_remote_reduce_local_scatter"},
    MpichLine{"reduce_scatter", "is_commutative=no", "intra_recursive_doubling"},
    MpichLine{"reduce_scatter", "total_msg_size<=524287", "intra_recursive_halving"},
    MpichLine{"reduce_scatter", kAlways, "intra_pairwise"},
    MpichLine{"reduce_scatter_block", kInter, "inter_remote_reduce_local_scatter"},
    MpichLine{"reduce_scatter_block", "is_commutative=no", "intra_recursive_doubling"},
    MpichLine{"reduce_scatter_block", "total_msg_size<=524287", "intra_recursive_halving"},
    MpichLine{"reduce_scatter_block", kAlways, "intra_pairwise"},
    MpichLine{"scan", kAlways, "intra_recursive_doubling"},
    MpichLine{"scatter", kInter, "inter_linear"}, MpichLine{"scatter", kAlways, "intra_binomial"},
    MpichLine{"scatterv", kAlways, "allcomm_linear"},
    // Persistent calls also use these lines.
    MpichLine{"iallgather", kInter, "inter_sched_local_gather_remote_bcast"},
    MpichLine{"iallgather", "total_msg_size<=81919", "intra_sched_brucks"},
    MpichLine{"iallgather", kAlways, "intra_sched_ring"},
    MpichLine{"iallgatherv", kInter, "inter_sched_remote_gather_local_bcast"},
    MpichLine{"iallgatherv", "total_msg_size<=81919", "intra_sched_brucks"},
    MpichLine{"iallgatherv", kAlways, "intra_sched_ring"},
    MpichLine{"iallreduce", kInter, "inter_sched_remote_reduce_local_bcast"},
    MpichLine{"iallreduce", "avg_msg_size<=2048", "intra_sched_recursive_doubling"},
    MpichLine{"iallreduce", "is_op_built_in=no", "intra_sched_recursive_doubling"},
    MpichLine{"iallreduce", "count<pow2", "intra_sched_recursive_doubling"},
    MpichLine{"iallreduce", kAlways, "intra_sched_reduce_scatter_allgather"},
    MpichLine{"ialltoall", kInter, "inter_sched_pairwise_exchange"},
    MpichLine{"ialltoall", kInPlace, "intra_sched_inplace"},
    MpichLine{"ialltoall", "avg_msg_size<=32768", "intra_sched_permuted_sendrecv"},
    MpichLine{"ialltoall", kAlways, "intra_sched_pairwise"},
    MpichLine{"ialltoallv", kInter, "inter_sched_pairwise_exchange"},
    MpichLine{"ialltoallv", kInPlace, "intra_sched_inplace"},
    MpichLine{"ialltoallv", kAlways, "intra_sched_blocked"},
    MpichLine{"ialltoallw", kInter, "inter_sched_pairwise_exchange"},
    MpichLine{"ialltoallw", kInPlace, "intra_sched_inplace"},
    MpichLine{"ialltoallw", kAlways, "intra_sched_blocked"},
    MpichLine{"ibarrier", kInter, "inter_sched_bcast"},
    MpichLine{"ibarrier", kAlways, "intra_sched_recursive_doubling"},
    MpichLine{"ibcast", kInter, "inter_sched_flat"},
    MpichLine{"ibcast", "comm_size<=7", "intra_sched_binomial"},
    MpichLine{"ibcast", "avg_msg_size<=12288", "intra_sched_binomial"},
    MpichLine{"ibcast", kAlways, "intra_sched_scatter_ring_allgather"},
    MpichLine{"iexscan", kAlways, "intra_sched_recursive_doubling"},
    MpichLine{"igather", kInter, "inter_sched_long"},
    MpichLine{"igather", kAlways, "intra_sched_binomial"},
    MpichLine{"igatherv", kAlways, "allcomm_sched_linear"},
    MpichLine{"ineighbor_allgather", kAlways, "allcomm_sched_linear"},
    MpichLine{"ineighbor_allgatherv", kAlways, "allcomm_sched_linear"},
    MpichLine{"ineighbor_alltoall", kAlways, "allcomm_sched_linear"},
    MpichLine{"ineighbor_alltoallv", kAlways, "allcomm_sched_linear"},
    MpichLine{"ineighbor_alltoallw", kAlways, "allcomm_sched_linear"},
    MpichLine{"ireduce", kInter, "inter_sched_local_reduce_remote_send"},
    MpichLine{"ireduce", "avg_msg_size<=2048", "intra_sched_binomial"},
    MpichLine{"ireduce", "is_op_built_in=no", "intra_sched_binomial"},
    MpichLine{"ireduce", "count<pow2", "intra_sched_binomial"},
    MpichLine{"ireduce", kAlways, "intra_sched_reduce_scatter_gather"},
    MpichLine{"ireduce_scatter", kInter, "inter_sched_remote_reduce_local_scatterv"},
    MpichLine{"ireduce_scatter", "is_commutative=no", "intra_sched_recursive_doubling"},
    MpichLine{"ireduce_scatter", kAlways, "intra_sched_pairwise"},
    MpichLine{"ireduce_scatter_block", kInter, "inter_sched_remote_reduce_local_scatterv"},
    MpichLine{"ireduce_scatter_block", "is_commutative=no", "intra_sched_recursive_doubling"},
    MpichLine{"ireduce_scatter_block", kAlways, "intra_sched_pairwise"},
    MpichLine{"iscan", kAlways, "intra_sched_recursive_doubling"},
    MpichLine{"iscatter", kInter, "inter_sched_linear"},
    MpichLine{"iscatter", kAlways, "intra_sched_binomial"},
    MpichLine{"iscatterv", kAlways, "allcomm_sched_linear"}};

// A requirement of an algorithm, and the replacement where it is not met.
struct MpichNeed {
  Collective collective;
  std::string_view algorithm;
  std::string_view when;
  std::string_view runs;
};
constexpr std::array kNeeds{
    MpichNeed{Collective::all_reduce, "reduce_scatter_allgather", "is_op_built_in=no",
              "recursive_doubling"},
    MpichNeed{Collective::all_reduce, "reduce_scatter_allgather", "count<pow2",
              "recursive_doubling"},
    MpichNeed{Collective::all_reduce, "ring", "is_commutative=no", "recursive_doubling"},
    MpichNeed{Collective::all_reduce, "recursive_multiplying k=4", "is_commutative=no",
              "recursive_doubling"},
    MpichNeed{Collective::reduce, "reduce_scatter_gather", "is_op_built_in=no", "binomial"},
    MpichNeed{Collective::reduce, "reduce_scatter_gather", "count<pow2", "binomial"},
    MpichNeed{Collective::reduce_scatter, "pairwise", "is_commutative=no", "recursive_doubling"},
    MpichNeed{Collective::reduce_scatter, "recursive_halving", "is_commutative=no",
              "recursive_doubling"}};

// A position in the tree is a pointer of JSON: keys, each after a slash.
using MpichTree = nlohmann::ordered_json;

// Adds a leaf: an algorithm and its parameters.
void add_leaf(MpichTree& tree, std::string place, std::string_view collective,
              std::string_view runs) {
  place += fmt::format("/algorithm=MPIR_{:c}{}_",
                       std::toupper(static_cast<unsigned char>(collective.front())),
                       collective.substr(1));
  const std::size_t end = std::min(runs.find(' '), runs.size());
  MpichTree& leaf = tree[MpichTree::json_pointer{place + std::string{runs.substr(0, end)}}];
  leaf = MpichTree::object();
  std::istringstream parameters{std::string{runs.substr(end)}};
  for (std::string parameter; parameters >> parameter;) leaf[parameter] = MpichTree::object();
}

// MPICH's name of the size of the whole vector; empty if it has none.
std::string_view size_of_vector(Collective collective) {
  if (collective == Collective::barrier || !can_name_sizes(Library::mpich, collective)) return {};
  return is_blockwise(collective) ? "total_msg_size" : "avg_msg_size";
}

void add_untuned(MpichTree& tree, const std::string& place, std::string_view collective,
                 Library library) {
  for (const MpichLine& line : kUntuned) {
    if (line.collective != collective) continue;
    const bool was_renamed = library == Library::mpich5 && line.runs == "intra_dissemination";
    add_leaf(tree, fmt::format("{}/{}", place, line.when), collective,
             was_renamed ? "intra_k_dissemination k=2" : line.runs);
  }
}

void add_rule(MpichTree& tree, const std::string& place, Collective collective,
              const ExportedTable::Rule& rule) {
  const std::string_view name = name_there(Library::mpich, collective);
  for (const MpichNeed& need : kNeeds)
    if (need.collective == collective && need.algorithm == rule.runs->theirs)
      add_leaf(tree, fmt::format("{}/{}", place, need.when), name,
               fmt::format("intra_{}", need.runs));
  const std::string segments =
      rule.runs->has_segments ? fmt::format(" chunk_size={}", rule.segment_bytes) : "";
  add_leaf(tree, fmt::format("{}/{}", place, kAlways), name,
           fmt::format("intra_{}{}", rule.runs->theirs, segments));
}

void add_tuned(MpichTree& tree, const std::string& place, const ExportedTable& table,
               Library library) {
  const Collective collective = table.place.collective;
  const std::string_view name = name_there(Library::mpich, collective);
  for (const MpichLine& line : kUntuned)  // calls that were not measured
    if (line.collective == name && (line.when == kInter || line.when == kInPlace))
      add_leaf(tree, fmt::format("{}/{}", place, line.when), name, line.runs);
  const std::string_view size = size_of_vector(collective);
  for (const ExportedTable::Rule& rule : table.rules) {
    const bool is_last = rule.until_bytes == 0 || rule.until_bytes > kMostBytes || size.empty();
    const std::string when =
        is_last ? std::string{kAlways} : fmt::format("{}<={}", size, rule.until_bytes - 1);
    const std::string within = fmt::format("{}/{}", place, when);
    if (rule.runs == nullptr) add_untuned(tree, within, name, library);
    else add_rule(tree, within, collective, rule);
    if (is_last) return;
  }
}

// A measurement holds only for its number of ranks.
void add_collective(MpichTree& tree, std::string_view collective, const Exported& exported,
                    Library library) {
  const std::string place = fmt::format("/collective={}", collective);
  int known = 0;
  for (const ExportedTable& table : exported.tables) {
    if (name_there(Library::mpich, table.place.collective) != collective) continue;
    if (table.place.ranks > known + 1)
      add_untuned(tree, fmt::format("{}/comm_size<={}", place, table.place.ranks - 1), collective,
                  library);
    known = table.place.ranks;
    add_tuned(tree, fmt::format("{}/comm_size<={}", place, known), table, library);
  }
  add_untuned(tree, known == 0 ? place : fmt::format("{}/{}", place, kAlways), collective, library);
}

std::string mpich_text(const Exported& exported, Library library) {
  MpichTree tree = MpichTree::object();
  std::string_view last;
  for (const MpichLine& line : kUntuned) {
    if (line.collective != last) add_collective(tree, line.collective, exported, library);
    last = line.collective;
  }
  return tree.dump(1) + "\n";
}

}  // namespace

std::string for_mpich(const Exported& exported, const std::string&) {
  return mpich_text(exported, Library::mpich);
}

std::string for_mpich5(const Exported& exported, const std::string&) {
  return mpich_text(exported, Library::mpich5);
}

}  // namespace tutti::perf
