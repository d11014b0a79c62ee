// The only place with names of algorithms. A new algorithm is a file beside this one and a row
// here.
#include <array>

#include "patterns.hpp"

namespace tutti::v0 {

namespace algorithms {
Builder ring_all_reduce, recursive_doubling_all_reduce, rabenseifner_all_reduce,
    circulant_all_reduce, direct_all_reduce, one_shot_all_reduce, reduce_broadcast_all_reduce;
Builder binomial_gather, direct_gather;
Builder hillis_steele_scan, hillis_steele_exscan, chain_scan, chain_exscan;
Builder recursive_multiplying_all_reduce, swing_all_reduce, bine_all_reduce,
    double_binary_tree_all_reduce, dual_root_all_reduce, parameter_server_all_reduce;
Builder recursive_halving_reduce_scatter, pairwise_reduce_scatter, swing_reduce_scatter,
    bine_reduce_scatter, pat_reduce_scatter, direct_reduce_scatter;
Builder recursive_doubling_all_gather, bruck_all_gather, neighbor_exchange_all_gather,
    sparbit_all_gather, swing_all_gather, bine_all_gather, pat_all_gather, direct_all_gather;
Builder knomial_broadcast, chain_broadcast, scatter_all_gather_broadcast, bine_broadcast,
    double_binary_tree_broadcast, circulant_broadcast, circulant_blocks_all_gather;
Builder knomial_reduce, chain_reduce, in_order_binary_reduce, reduce_scatter_gather_reduce,
    bine_reduce, double_binary_tree_reduce, circulant_reduce, direct_reduce;
Builder direct_scatter, linear_scatter, linear_gather, dissemination_barrier;
Builder direct_all_to_all, pairwise_all_to_all, linear_all_to_all, bruck_all_to_all;
Builder multitree_all_reduce, multitree_reduce_scatter, multitree_all_gather;
Builder bucket_all_reduce, bucket_reduce_scatter, bucket_all_gather;
Builder slim_fly_all_reduce, multi_ring_all_reduce;
Builder hierarchical_all_reduce, hierarchical_reduce, hierarchical_broadcast,
    hierarchical_all_gather, hierarchical_reduce_scatter, hierarchical_barrier,
    hierarchical_scatter, hierarchical_gather, hierarchical_all_to_all;
}  // namespace algorithms

namespace {

using namespace algorithms;  // NOLINT(google-build-using-namespace): names every one of them
using enum Collective;

constexpr Traits kInOrder{.ordered = When::always, .size_invariant = When::always};
constexpr Traits kInOrderFromZero{.ordered = When::root_is_zero, .size_invariant = When::always};
constexpr Traits kDirect{
    .ordered = When::always, .size_invariant = When::always, .rotational = true};
/// With the expression tree of another row, see Traits::same_tree_as.
constexpr Traits kInOrderAs(std::string_view other, bool rotational = false) {
  return {.ordered = When::always,
          .size_invariant = When::always,
          .rotational = rotational,
          .same_tree_as = other};
}
constexpr Traits kRotational{.rotational = true};
constexpr std::size_t kRingSegment = 256 << 10;
constexpr std::size_t kChainSegment = 128 << 10;
constexpr std::size_t kTreeSegment = 128 << 10;

// clang-format off
constexpr std::array kRows{
    Algorithm{.collective = all_reduce, .name = "ring", .build = ring_all_reduce,
              .traits = kRotational,
              .summary = "large vectors, shared links (Patarasuk, Yuan 2009)"},
    Algorithm{.collective = all_reduce, .name = "segmented_ring", .build = ring_all_reduce,
              .traits = kRotational, .segment_bytes = kRingSegment,
              .summary = "the ring in pipelined segments, for very large vectors"},
    Algorithm{.collective = all_reduce, .name = "recursive_doubling",
              .build = recursive_doubling_all_reduce, .traits = kInOrder,
              .summary = "butterfly of least latency, small vectors (Thakur et al. 2005)"},
    Algorithm{.collective = all_reduce, .name = "rabenseifner", .build = rabenseifner_all_reduce,
              .traits = kInOrderAs("recursive_doubling"),
              .summary = "butterfly of least volume, middle sizes (Rabenseifner 2004)"},
    Algorithm{.collective = all_reduce, .name = "circulant", .build = circulant_all_reduce,
              .traits = kRotational, .parameter = AlgorithmParameter::skips,
              .summary = "log rounds and least volume for any rank count (Traeff 2024)"},
    Algorithm{.collective = all_reduce, .name = "direct", .build = direct_all_reduce,
              .traits = kDirect,
              .summary = "two rounds, everybody to everybody; few ranks, single switch"},
    Algorithm{.collective = all_reduce, .name = "one_shot", .build = one_shot_all_reduce,
              .traits = kInOrderAs("direct", true),
              .summary = "one round, whole vectors to everybody; tiny vectors, few ranks"},
    Algorithm{.collective = all_reduce, .name = "reduce_broadcast",
              .build = reduce_broadcast_all_reduce, .traits = kInOrder,
              .summary = "binomial reduce, then broadcast; the baseline"},
    Algorithm{.collective = all_reduce, .name = "recursive_multiplying",
              .build = recursive_multiplying_all_reduce, .traits = kInOrder,
              .parameter = AlgorithmParameter::radix, .default_number = 4,
              .summary = "fewer rounds with k-1 messages at once, tiny vectors (MPICH)"},
    Algorithm{.collective = all_reduce, .name = "swing", .build = swing_all_reduce,
              .traits = {.sizes = Sizes::even},
              .summary = "log rounds, near peers; rings and tori (De Sensi et al. 2024)"},
    Algorithm{.collective = all_reduce, .name = "bine", .build = bine_all_reduce,
              .traits = {.sizes = Sizes::power_of_two},
              .summary = "swing with vectors in one piece; odd groups (De Sensi et al. 2025)"},
    Algorithm{.collective = all_reduce, .name = "double_binary_tree",
              .build = double_binary_tree_all_reduce, .segment_bytes = kTreeSegment,
              .summary = "half up and down each of two trees, pipelined (Sanders et al. 2009)"},
    Algorithm{.collective = all_reduce, .name = "dual_root", .build = dual_root_all_reduce,
              .traits = kInOrder, .segment_bytes = kTreeSegment,
              .summary = "two trees, pipelined; keeps order with few partners (Traeff 2021)"},
    Algorithm{.collective = all_reduce, .name = "parameter_server",
              .build = parameter_server_all_reduce, .traits = kInOrderAs("direct"),
              .parameter = AlgorithmParameter::servers, .default_number = 1,
              .summary = "some ranks fold for all; what others are compared with"},
    Algorithm{.collective = all_reduce, .name = "multitree", .build = multitree_all_reduce,
              .parameter = AlgorithmParameter::graph,
              .summary = "trees through any network, one link per message (Huang et al. 2021)"},
    Algorithm{.collective = all_reduce, .name = "slim_fly", .build = slim_fly_all_reduce,
              .traits = {.sizes = Sizes::slim_fly},
              .summary = "Slim Fly networks by their lines, five rounds of least volume"},
    Algorithm{.collective = all_reduce, .name = "bucket", .build = bucket_all_reduce,
              .parameter = AlgorithmParameter::graph,
              .summary = "tori, a ring along each side in turn (Barnett et al. 1993)"},
    Algorithm{.collective = all_reduce, .name = "multi_ring", .build = multi_ring_all_reduce,
              .parameter = AlgorithmParameter::graph,
              .summary = "rings that share no link, at once; the largest vectors"},
    Algorithm{.collective = all_reduce, .name = "hierarchical", .build = hierarchical_all_reduce,
              .parameter = AlgorithmParameter::hierarchy,
              .summary = "one algorithm within groups of ranks, another between them"},

    Algorithm{.collective = reduce, .name = "binomial", .build = binomial_reduce,
              .traits = kInOrderFromZero, .summary = "small vectors"},
    Algorithm{.collective = reduce, .name = "knomial", .build = knomial_reduce,
              .traits = kInOrderFromZero, .parameter = AlgorithmParameter::radix, .default_number = 4,
              .summary = "small vectors, fewer rounds with k-1 messages at once"},
    Algorithm{.collective = reduce, .name = "chain", .build = chain_reduce,
              .traits = kInOrderFromZero, .segment_bytes = kChainSegment,
              .summary = "pipelined, huge vectors and few ranks"},
    Algorithm{.collective = reduce, .name = "in_order_binary", .build = in_order_binary_reduce,
              .traits = kInOrder, .summary = "operators that do not commute, any root"},
    Algorithm{.collective = reduce, .name = "reduce_scatter_gather",
              .build = reduce_scatter_gather_reduce,
              .traits = {.size_invariant = When::power_of_two},
              .summary = "circulant reduce-scatter, binomial gather; large vectors"},
    Algorithm{.collective = reduce, .name = "direct", .build = direct_reduce, .traits = kInOrder,
              .summary = "one round, all to the root; tiny vectors, few ranks, any operator"},
    Algorithm{.collective = reduce, .name = "bine", .build = bine_reduce,
              .traits = {.sizes = Sizes::power_of_two, .size_invariant = When::always},
              .summary = "binomial with nearer peers; odd groups (De Sensi et al. 2025)"},
    Algorithm{.collective = reduce, .name = "double_binary_tree",
              .build = double_binary_tree_reduce, .segment_bytes = kTreeSegment,
              .summary = "half up each of two trees, pipelined (Sanders et al. 2009)"},
    Algorithm{.collective = reduce, .name = "circulant", .build = circulant_reduce,
              .parameter = AlgorithmParameter::blocks, .default_number = 8,
              .summary = "b blocks in the fewest rounds; large vectors (Traeff 2023)"},
    Algorithm{.collective = reduce, .name = "hierarchical", .build = hierarchical_reduce,
              .parameter = AlgorithmParameter::hierarchy,
              .summary = "one algorithm within groups of ranks, another between them"},

    Algorithm{.collective = broadcast, .name = "binomial", .build = binomial_broadcast,
              .summary = "small vectors"},
    Algorithm{.collective = broadcast, .name = "knomial", .build = knomial_broadcast,
              .parameter = AlgorithmParameter::radix, .default_number = 4,
              .summary = "small vectors, fewer rounds with k-1 messages at once"},
    Algorithm{.collective = broadcast, .name = "chain", .build = chain_broadcast,
              .segment_bytes = kChainSegment, .summary = "pipelined, huge vectors and few ranks"},
    Algorithm{.collective = broadcast, .name = "scatter_all_gather",
              .build = scatter_all_gather_broadcast,
              .summary = "large vectors (van de Geijn; Barnett et al. 1994)"},
    Algorithm{.collective = broadcast, .name = "bine", .build = bine_broadcast,
              .traits = {.sizes = Sizes::power_of_two},
              .summary = "binomial with nearer peers; odd groups (De Sensi et al. 2025)"},
    Algorithm{.collective = broadcast, .name = "double_binary_tree",
              .build = double_binary_tree_broadcast, .segment_bytes = kTreeSegment,
              .summary = "half down each of two trees, pipelined (Sanders et al. 2009)"},
    Algorithm{.collective = broadcast, .name = "circulant", .build = circulant_broadcast,
              .parameter = AlgorithmParameter::blocks, .default_number = 8,
              .summary = "b blocks in the fewest rounds; large vectors (Traeff 2023)"},
    Algorithm{.collective = broadcast, .name = "hierarchical", .build = hierarchical_broadcast,
              .parameter = AlgorithmParameter::hierarchy,
              .summary = "one algorithm between groups of ranks, another within them"},

    Algorithm{.collective = scatter, .name = "binomial", .build = binomial_scatter,
              .summary = "small blocks"},
    Algorithm{.collective = scatter, .name = "direct", .build = direct_scatter,
              .traits = {.own_counts_only = true},
              .summary = "large or unequal blocks; every byte travels once"},
    Algorithm{.collective = scatter, .name = "linear", .build = linear_scatter,
              .traits = {.own_counts_only = true},
              .parameter = AlgorithmParameter::in_flight, .default_number = 4,
              .summary = "k transfers at a time; many ranks, large blocks"},
    Algorithm{.collective = scatter, .name = "hierarchical", .build = hierarchical_scatter,
              .parameter = AlgorithmParameter::hierarchy,
              .summary = "one algorithm between groups of ranks, another within them"},

    Algorithm{.collective = gather, .name = "binomial", .build = binomial_gather,
              .summary = "small blocks"},
    Algorithm{.collective = gather, .name = "direct", .build = direct_gather,
              .traits = {.own_counts_only = true},
              .summary = "large or unequal blocks; every byte travels once"},
    Algorithm{.collective = gather, .name = "linear", .build = linear_gather,
              .traits = {.own_counts_only = true},
              .parameter = AlgorithmParameter::in_flight, .default_number = 4,
              .summary = "k transfers at a time; many ranks, large blocks"},
    Algorithm{.collective = gather, .name = "hierarchical", .build = hierarchical_gather,
              .parameter = AlgorithmParameter::hierarchy,
              .summary = "one algorithm within groups of ranks, another between them"},

    Algorithm{.collective = all_gather, .name = "ring", .build = ring_all_gather,
              .traits = kRotational, .summary = "large blocks, shared links"},
    Algorithm{.collective = all_gather, .name = "recursive_doubling",
              .build = recursive_doubling_all_gather, .traits = {.sizes = Sizes::power_of_two},
              .summary = "log rounds, powers of two"},
    Algorithm{.collective = all_gather, .name = "bruck", .build = bruck_all_gather,
              .traits = kRotational, .parameter = AlgorithmParameter::radix,
              .summary = "small blocks, any rank count (Bruck et al. 1997)"},
    Algorithm{.collective = all_gather, .name = "direct", .build = direct_all_gather,
              .traits = kRotational,
              .summary = "one round, everybody to everybody; few ranks, single switch"},
    Algorithm{.collective = all_gather, .name = "circulant", .build = circulant_all_gather,
              .traits = kRotational, .parameter = AlgorithmParameter::skips,
              .summary = "log rounds for any rank count (Traeff 2024)"},
    Algorithm{.collective = all_gather, .name = "circulant_blocks",
              .build = circulant_blocks_all_gather, .traits = kRotational,
              .parameter = AlgorithmParameter::blocks, .default_number = 8,
              .summary = "b parts of blocks in the fewest rounds; unequal blocks (Traeff 2022)"},
    Algorithm{.collective = all_gather, .name = "neighbor_exchange",
              .build = neighbor_exchange_all_gather, .traits = {.sizes = Sizes::even},
              .summary = "half the ring's rounds, neighbours only (Chen et al. 2005)"},
    Algorithm{.collective = all_gather, .name = "sparbit", .build = sparbit_all_gather,
              .traits = kRotational,
              .summary = "log rounds, far ranks first; shared hosts (Loch, Koslovski 2021)"},
    Algorithm{.collective = all_gather, .name = "swing", .build = swing_all_gather,
              .traits = {.sizes = Sizes::even},
              .summary = "log rounds, near peers; rings and tori (De Sensi et al. 2024)"},
    Algorithm{.collective = all_gather, .name = "bine", .build = bine_all_gather,
              .traits = {.sizes = Sizes::power_of_two},
              .summary = "swing's peers, blocks in one piece; odd groups (De Sensi et al. 2025)"},
    Algorithm{.collective = all_gather, .name = "pat", .build = pat_all_gather,
              .traits = kRotational, .parameter = AlgorithmParameter::aggregation, .default_number = 8,
              .summary = "a blocks per message, far ranks first (NCCL; Jeaugey 2025)"},
    Algorithm{.collective = all_gather, .name = "multitree", .build = multitree_all_gather,
              .parameter = AlgorithmParameter::graph,
              .summary = "trees through any network, one link per message (Huang et al. 2021)"},
    Algorithm{.collective = all_gather, .name = "bucket", .build = bucket_all_gather,
              .parameter = AlgorithmParameter::graph,
              .summary = "tori, a ring along each side in turn (Barnett et al. 1993)"},
    Algorithm{.collective = all_gather, .name = "hierarchical", .build = hierarchical_all_gather,
              .parameter = AlgorithmParameter::hierarchy,
              .summary = "one algorithm between groups of ranks, another within them"},

    Algorithm{.collective = reduce_scatter, .name = "ring", .build = ring_reduce_scatter,
              .traits = kRotational, .summary = "large blocks, shared links"},
    Algorithm{.collective = reduce_scatter, .name = "recursive_halving",
              .build = recursive_halving_reduce_scatter,
              .traits = {.size_invariant = When::always},
              .summary = "small and middle blocks (Thakur et al. 2005)"},
    Algorithm{.collective = reduce_scatter, .name = "circulant", .build = circulant_reduce_scatter,
              .traits = kRotational, .parameter = AlgorithmParameter::skips,
              .summary = "log rounds and least volume for any rank count (Traeff 2024)"},
    Algorithm{.collective = reduce_scatter, .name = "pairwise", .build = pairwise_reduce_scatter,
              .traits = {.ordered = When::always},
              .summary = "large blocks, operators that do not commute"},
    Algorithm{.collective = reduce_scatter, .name = "direct", .build = direct_reduce_scatter,
              .traits = kDirect,
              .summary = "one round, everybody to everybody; small blocks, few ranks"},
    Algorithm{.collective = reduce_scatter, .name = "swing", .build = swing_reduce_scatter,
              .traits = {.sizes = Sizes::even},
              .summary = "log rounds, near peers; rings and tori (De Sensi et al. 2024)"},
    Algorithm{.collective = reduce_scatter, .name = "bine", .build = bine_reduce_scatter,
              .traits = {.sizes = Sizes::power_of_two, .size_invariant = When::always},
              .summary = "swing's peers, blocks in one piece; odd groups (De Sensi et al. 2025)"},
    Algorithm{.collective = reduce_scatter, .name = "pat", .build = pat_reduce_scatter,
              .traits = kRotational, .parameter = AlgorithmParameter::aggregation, .default_number = 8,
              .summary = "a blocks per message, far ranks last (NCCL; Jeaugey 2025)"},
    Algorithm{.collective = reduce_scatter, .name = "multitree", .build = multitree_reduce_scatter,
              .parameter = AlgorithmParameter::graph,
              .summary = "trees through any network, one link per message (Huang et al. 2021)"},
    Algorithm{.collective = reduce_scatter, .name = "bucket", .build = bucket_reduce_scatter,
              .parameter = AlgorithmParameter::graph,
              .summary = "tori, a ring along each side in turn (Barnett et al. 1993)"},
    Algorithm{.collective = reduce_scatter, .name = "hierarchical",
              .build = hierarchical_reduce_scatter, .parameter = AlgorithmParameter::hierarchy,
              .summary = "one algorithm within groups of ranks, another between them"},

    Algorithm{.collective = all_to_all, .name = "direct", .build = direct_all_to_all,
              .traits = {.rotational = true, .own_counts_only = true},
              .summary = "everybody to everybody at once"},
    Algorithm{.collective = all_to_all, .name = "pairwise", .build = pairwise_all_to_all,
              .traits = {.rotational = true, .own_counts_only = true},
              .summary = "large blocks, one partner at a time"},
    Algorithm{.collective = all_to_all, .name = "linear", .build = linear_all_to_all,
              .traits = {.rotational = true, .own_counts_only = true},
              .parameter = AlgorithmParameter::in_flight, .default_number = 4,
              .summary = "k transfers at a time; middle blocks, many ranks"},
    Algorithm{.collective = all_to_all, .name = "bruck", .build = bruck_all_to_all,
              .traits = kRotational, .parameter = AlgorithmParameter::radix,
              .summary = "small blocks, log rounds (Bruck et al. 1997)"},
    Algorithm{.collective = all_to_all, .name = "hierarchical", .build = hierarchical_all_to_all,
              .parameter = AlgorithmParameter::hierarchy,
              .summary = "one algorithm within groups of ranks, another between them"},

    Algorithm{.collective = scan, .name = "hillis_steele", .build = hillis_steele_scan,
              .traits = kInOrder, .summary = "log rounds, small vectors (Hillis, Steele 1986)"},
    Algorithm{.collective = scan, .name = "chain", .build = chain_scan, .traits = kInOrder,
              .segment_bytes = kChainSegment, .summary = "pipelined, large vectors"},

    Algorithm{.collective = exscan, .name = "hillis_steele", .build = hillis_steele_exscan,
              .traits = kInOrder, .summary = "log rounds, small vectors (Hillis, Steele 1986)"},
    Algorithm{.collective = exscan, .name = "chain", .build = chain_exscan, .traits = kInOrder,
              .segment_bytes = kChainSegment, .summary = "pipelined, large vectors"},

    Algorithm{.collective = barrier, .name = "dissemination", .build = dissemination_barrier,
              .traits = kRotational, .parameter = AlgorithmParameter::radix,
              .summary = "log rounds (Hensgen, Finkel, Manber 1988)"},
    Algorithm{.collective = barrier, .name = "hierarchical", .build = hierarchical_barrier,
              .parameter = AlgorithmParameter::hierarchy,
              .summary = "one algorithm within groups of ranks, another between them"},
};
// clang-format on

}  // namespace

std::span<const Algorithm> catalog() noexcept {
  return kRows;
}

}  // namespace tutti::v0
