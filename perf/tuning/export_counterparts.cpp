#include "perf/tuning/export_counterparts.hpp"

#include <algorithm>
#include <array>

namespace tutti::perf {

namespace {

using enum Collective;

// Numbers as `ompi_info --param coll tuned --level 9` lists them for 4.1 and 5.0. Its scan and
// exscan are left out: their rules use the size of an element. The gather's linear_sync is left out
// too: it first requests each rank's block, which takes ten times as long as tutti's for small
// blocks.
constexpr std::array kOpenMpi{
    Counterpart{all_reduce, "reduce_broadcast", "nonoverlapping", 2},
    Counterpart{all_reduce, "recursive_doubling", "recursive_doubling", 3},
    Counterpart{all_reduce, "ring", "ring", 4},
    Counterpart{all_reduce, "segmented_ring", "segmented_ring", 5, true},
    Counterpart{all_reduce, "rabenseifner", "rabenseifner", 6},
    Counterpart{broadcast, "chain", "pipeline", 3, true},
    Counterpart{broadcast, "binomial", "binomial", 6, true},
    Counterpart{broadcast, "knomial", "knomial", 7, true, "k=4"},
    Counterpart{broadcast, "scatter_all_gather", "scatter_allgather", 8},
    Counterpart{reduce, "direct", "linear", 1},
    Counterpart{reduce, "chain", "pipeline", 3, true},
    Counterpart{reduce, "binomial", "binomial", 5, true},
    Counterpart{reduce, "in_order_binary", "in-order_binary", 6, true},
    Counterpart{reduce, "reduce_scatter_gather", "rabenseifner", 7},
    Counterpart{all_gather, "direct", "linear", 1},
    Counterpart{all_gather, "bruck", "bruck", 2, false, "k=2"},
    Counterpart{all_gather, "recursive_doubling", "recursive_doubling", 3},
    Counterpart{all_gather, "ring", "ring", 4},
    Counterpart{all_gather, "neighbor_exchange", "neighbor", 5},
    Counterpart{all_to_all, "direct", "linear", 1},
    Counterpart{all_to_all, "pairwise", "pairwise", 2},
    Counterpart{all_to_all, "bruck", "modified_bruck", 3, false, "k=2"},
    Counterpart{all_to_all, "linear", "linear_sync", 4},
    Counterpart{reduce_scatter, "recursive_halving", "recursive_halving", 3},
    Counterpart{gather, "direct", "basic_linear", 1},
    Counterpart{gather, "binomial", "binomial", 2},
    Counterpart{scatter, "direct", "basic_linear", 1},
    Counterpart{scatter, "binomial", "binomial", 2},
    Counterpart{scatter, "linear", "linear_nb", 3},
    Counterpart{barrier, "dissemination", "bruck", 4}};

// Values of MPIR_CVAR_<collective>_INTRA_ALGORITHM, with their parameters. The first ones exist
// only in MPICH 5. Values from kSince4 on are equal in 4.0 to 5.0.
constexpr std::array kMpich{
    Counterpart{all_reduce, "ring", "ring"},
    Counterpart{all_reduce, "recursive_multiplying", "recursive_multiplying k=4", 0, false, "k=4"},
    Counterpart{broadcast, "knomial", "tree tree_type=knomial_1 k=4 is_non_blocking=1", 0, false,
                "k=4"},
    Counterpart{broadcast, "chain",
                "pipelined_tree tree_type=kary k=1 is_non_blocking=1 recv_pre_posted=0", 0, true},
    Counterpart{barrier, "dissemination", "k_dissemination k=2"},
    Counterpart{all_gather, "bruck", "k_brucks k=4", 0, false, "k=4"},
    Counterpart{all_to_all, "bruck", "k_brucks k=4", 0, false, "k=4"},
    Counterpart{all_reduce, "recursive_doubling", "recursive_doubling"},
    Counterpart{all_reduce, "rabenseifner", "reduce_scatter_allgather"},
    Counterpart{broadcast, "binomial", "binomial"},
    Counterpart{broadcast, "scatter_all_gather", "scatter_ring_allgather"},
    Counterpart{reduce, "binomial", "binomial"},
    Counterpart{reduce, "reduce_scatter_gather", "reduce_scatter_gather"},
    Counterpart{all_gather, "bruck", "brucks", 0, false, "k=2"},
    Counterpart{all_gather, "recursive_doubling", "recursive_doubling"},
    Counterpart{all_gather, "ring", "ring"},
    Counterpart{all_to_all, "bruck", "brucks", 0, false, "k=2"},
    Counterpart{all_to_all, "pairwise", "pairwise"},
    Counterpart{all_to_all, "direct", "scattered"},
    Counterpart{reduce_scatter, "pairwise", "pairwise"},
    Counterpart{reduce_scatter, "recursive_halving", "recursive_halving"},
    Counterpart{gather, "binomial", "binomial"},
    Counterpart{scatter, "binomial", "binomial"}};
constexpr std::size_t kSince4 = 7;

// The calls of MPI that have counterparts, and their numbers in COLLTYPE of coll_base_functions.h.
struct MpiCall {
  Collective collective;
  std::string_view name;
  int number;
};
constexpr std::array kMpiCalls{
    MpiCall{all_gather, "allgather", 0}, MpiCall{all_reduce, "allreduce", 2},
    MpiCall{all_to_all, "alltoall", 3},  MpiCall{barrier, "barrier", 6},
    MpiCall{broadcast, "bcast", 7},      MpiCall{gather, "gather", 9},
    MpiCall{reduce, "reduce", 11},       MpiCall{reduce_scatter, "reduce_scatter_block", 13},
    MpiCall{scatter, "scatter", 15}};

MpiCall call_of(Collective collective) noexcept {
  const auto found = std::ranges::find(kMpiCalls, collective, &MpiCall::collective);
  return found == kMpiCalls.end() ? MpiCall{collective, {}, -1} : *found;
}

// Numbers of the Developer Reference, "I_MPI_ADJUST Family Environment Variables" (2019 and later).
constexpr std::array kIntel{Counterpart{all_reduce, "recursive_doubling", "recursive doubling", 1},
                            Counterpart{all_reduce, "rabenseifner", "Rabenseifner's", 2},
                            Counterpart{all_reduce, "reduce_broadcast", "reduce + bcast", 3},
                            Counterpart{all_reduce, "ring", "ring", 8},
                            Counterpart{broadcast, "binomial", "binomial", 1},
                            Counterpart{reduce, "binomial", "binomial", 2},
                            Counterpart{reduce, "reduce_scatter_gather", "Rabenseifner's", 5},
                            Counterpart{all_gather, "recursive_doubling", "recursive doubling", 1},
                            Counterpart{all_gather, "bruck", "Bruck's", 2, false, "k=2"},
                            Counterpart{all_gather, "ring", "ring", 3},
                            Counterpart{all_to_all, "bruck", "Bruck's", 1, false, "k=2"},
                            Counterpart{all_to_all, "direct", "isend, irecv, waitall", 2},
                            Counterpart{all_to_all, "pairwise", "pairwise exchange", 3},
                            Counterpart{gather, "binomial", "binomial", 1},
                            Counterpart{scatter, "binomial", "binomial", 1},
                            Counterpart{barrier, "dissemination", "dissemination", 1}};

// Names of components/tl/ucp, as `ucc_info -A` lists them.
constexpr std::array kUcc{
    Counterpart{all_reduce, "recursive_multiplying", "knomial", 0, false, "k=4"},
    Counterpart{all_reduce, "rabenseifner", "sra_knomial"},
    Counterpart{all_reduce, "double_binary_tree", "dbt"},
    Counterpart{broadcast, "knomial", "knomial", 0, false, "k=4"},
    Counterpart{broadcast, "scatter_all_gather", "sag_knomial"},
    Counterpart{broadcast, "double_binary_tree", "dbt"},
    Counterpart{reduce, "knomial", "knomial", 0, false, "k=4"},
    Counterpart{reduce, "double_binary_tree", "dbt"},
    Counterpart{reduce, "reduce_scatter_gather", "srg"},
    Counterpart{all_gather, "ring", "ring"},
    Counterpart{all_gather, "neighbor_exchange", "neighbor"},
    Counterpart{all_gather, "bruck", "bruck", 0, false, "k=2"},
    Counterpart{all_gather, "sparbit", "sparbit"},
    Counterpart{all_to_all, "pairwise", "pairwise"},
    Counterpart{all_to_all, "bruck", "bruck", 0, false, "k=2"},
    Counterpart{reduce_scatter, "ring", "ring"},
    Counterpart{reduce_scatter, "recursive_halving", "knomial"}};

// Names of NCCL's ext-tuner/example.
constexpr std::array kNccl{Counterpart{all_reduce, "ring", "ring"},
                           Counterpart{all_reduce, "segmented_ring", "ring"},
                           Counterpart{all_reduce, "double_binary_tree", "tree"},
                           Counterpart{broadcast, "chain", "ring"},
                           Counterpart{reduce, "chain", "ring"},
                           Counterpart{all_gather, "ring", "ring"},
                           Counterpart{all_gather, "pat", "pat"},
                           Counterpart{reduce_scatter, "ring", "ring"},
                           Counterpart{reduce_scatter, "pat", "pat"}};

}  // namespace

std::span<const Counterpart> counterparts_of(Library library) noexcept {
  switch (library) {
    case Library::openmpi: return kOpenMpi;
    case Library::mpich: return std::span{kMpich}.subspan(kSince4);
    case Library::mpich5: return kMpich;
    case Library::intel: return kIntel;
    case Library::ucc: return kUcc;
    case Library::nccl: break;
  }
  return kNccl;
}

std::string_view name_there(Library library, Collective collective) noexcept {
  const bool is_nccl = library == Library::nccl;
  if (collective == broadcast && is_nccl) return "broadcast";
  if (collective == reduce_scatter && is_nccl) return "reducescatter";
  // MPI has a second call, for equal blocks.
  if (collective == reduce_scatter && (library == Library::intel || library == Library::ucc))
    return "reduce_scatter";
  return call_of(collective).name;
}

int number_in_openmpi(Collective collective) noexcept {
  return call_of(collective).number;
}

// If no rule fits, Intel MPI 2021.18 runs the last rule. Algorithm -1 ends the program.
bool can_leave_sizes(Library library) noexcept {
  return library != Library::intel;
}

// For gather and scatter, MPICH's avg_msg_size is not set, and total_msg_size counts elements.
bool can_name_sizes(Library library, Collective collective) noexcept {
  const bool is_mpich = library == Library::mpich || library == Library::mpich5;
  return !is_mpich || !is_rooted(collective) || !is_blockwise(collective);
}

}  // namespace tutti::perf
