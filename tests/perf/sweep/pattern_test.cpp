// Inputs and expected results of a sweep, against a second, direct computation.
#include "perf/sweep/pattern.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <vector>

#include "perf/sweep/buffers.hpp"
#include "perf/sweep/workload.hpp"

namespace tutti::perf {
namespace {

// A rank's contribution to the whole vector.
template <class T>
std::vector<T> contribution(const Workload& workload, Rank rank, std::size_t count) {
  std::vector<T> values(count);
  Pattern pattern{workload};
  const std::vector<Region> whole{{0, count, rank, 0}};
  pattern.fill(whole, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

// Reduces all contributions with `combine` and asks the pattern whether it agrees.
template <class T, class Combine>
std::size_t disagreements(const Workload& workload, const Combine& combine) {
  constexpr std::size_t kCount = 10000;  // more than two periods
  std::vector<T> result = contribution<T>(workload, 0, kCount);
  for (Rank rank = 1; rank < workload.size; ++rank) {
    const std::vector<T> other = contribution<T>(workload, rank, kCount);
    for (std::size_t i = 0; i < kCount; ++i) result[i] = combine(result[i], other[i]);
  }
  Pattern pattern{workload};
  const std::vector<Region> whole{{0, kCount, Region::kAllRanks, 0}};
  return pattern.count_wrong(whole, reinterpret_cast<const std::byte*>(result.data()));
}

Workload reduction(Datatype type, OperatorKind op, int size = 7) {
  return {.collective = Collective::all_reduce, .count = 1, .type = type, .op = op, .size = size};
}

TEST(Pattern, ExpectsWhatPlainArithmeticGives) {
  using enum OperatorKind;
  EXPECT_EQ(disagreements<float>(reduction(Datatype::f32, sum), std::plus{}), 0u);
  EXPECT_EQ(disagreements<double>(reduction(Datatype::f64, prod), std::multiplies{}), 0u);
  EXPECT_EQ(
      disagreements<std::int8_t>(reduction(Datatype::i8, sum, 64),
                                 [](auto a, auto b) { return static_cast<std::int8_t>(a + b); }),
      0u);
  EXPECT_EQ(disagreements<std::uint64_t>(reduction(Datatype::u64, bit_xor), std::bit_xor{}), 0u);
  EXPECT_EQ(disagreements<std::uint16_t>(
                reduction(Datatype::u16, bit_and),
                [](auto a, auto b) { return static_cast<std::uint16_t>(a & b); }),
            0u);
  EXPECT_EQ(disagreements<std::int32_t>(reduction(Datatype::i32, logical_or),
                                        [](int a, int b) { return a != 0 || b != 0 ? 1 : 0; }),
            0u);
  EXPECT_EQ(disagreements<std::int64_t>(reduction(Datatype::i64, max),
                                        [](auto a, auto b) { return a > b ? a : b; }),
            0u);
  EXPECT_EQ(disagreements<std::complex<float>>(reduction(Datatype::c32, prod), std::multiplies{}),
            0u);
  EXPECT_EQ(
      disagreements<BFloat16>(reduction(Datatype::bf16, sum),
                              [](BFloat16 a, BFloat16 b) { return BFloat16{float{a} + float{b}}; }),
      0u);
  EXPECT_EQ(disagreements<Indexed<double>>(reduction(Datatype::f64_index, min_loc),
                                           [](const auto& a, const auto& b) {
                                             if (a.value != b.value)
                                               return a.value < b.value ? a : b;
                                             return a.index < b.index ? a : b;
                                           }),
            0u);
}

// Folds all ranks' contributions in their datatype, forwards and backwards: where nothing is
// rounded and nothing overflows, every order gives what the pattern expects.
template <class T, class Combine>
void expect_exact(Datatype type, OperatorKind op, const Combine& combine) {
  constexpr std::size_t kCount = 37;
  const std::vector<Region> whole{{0, kCount, Region::kAllRanks, 0}};
  for (const int size : {128, 257, 4096}) {
    const Workload workload = reduction(type, op, size);
    std::vector<std::vector<T>> operands;
    for (Rank rank = 0; rank < size; ++rank)
      operands.push_back(contribution<T>(workload, rank, kCount));
    Pattern pattern{workload};
    for (const bool forwards : {true, false}) {
      std::vector<T> result = forwards ? operands.front() : operands.back();
      for (std::size_t k = 1; k < operands.size(); ++k)
        for (std::size_t i = 0; i < kCount; ++i)
          result[i] = combine(result[i], operands[forwards ? k : operands.size() - 1 - k][i]);
      EXPECT_EQ(pattern.count_wrong(whole, reinterpret_cast<const std::byte*>(result.data())), 0u)
          << name_of(type) << " " << name_of(op) << " " << size;
      for (const T value : result) {
        const auto number = static_cast<double>(static_cast<float>(value));
        EXPECT_TRUE(std::isfinite(number) && number > 0)
            << name_of(type) << " " << name_of(op) << " " << size << ": " << number;
      }
    }
  }
}

TEST(Pattern, IsExactForThousandsOfRanks) {
  const auto add = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
  const auto times = [](auto a, auto b) { return static_cast<decltype(a)>(a * b); };
  const auto add_short = [](auto a, auto b) { return decltype(a){float{a} + float{b}}; };
  const auto times_short = [](auto a, auto b) { return decltype(a){float{a} * float{b}}; };
  expect_exact<std::int8_t>(Datatype::i8, OperatorKind::sum, add);
  expect_exact<std::int8_t>(Datatype::i8, OperatorKind::prod, times);
  expect_exact<std::int16_t>(Datatype::i16, OperatorKind::sum, add);
  expect_exact<BFloat16>(Datatype::bf16, OperatorKind::sum, add_short);
  expect_exact<BFloat16>(Datatype::bf16, OperatorKind::prod, times_short);
  expect_exact<Float16>(Datatype::f16, OperatorKind::sum, add_short);
  expect_exact<Float16>(Datatype::f16, OperatorKind::prod, times_short);
  expect_exact<float>(Datatype::f32, OperatorKind::prod, times);
}

TEST(Pattern, AverageIsTheSumDividedOnce) {
  const Workload workload = reduction(Datatype::f16, OperatorKind::average, 3);
  std::vector<Float16> a = contribution<Float16>(workload, 0, 100);
  const std::vector<Float16> b = contribution<Float16>(workload, 1, 100);
  const std::vector<Float16> c = contribution<Float16>(workload, 2, 100);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = Float16{(float{a[i]} + float{b[i]} + float{c[i]}) / 3};
  Pattern pattern{workload};
  const std::vector<Region> whole{{0, a.size(), Region::kAllRanks, 0}};
  EXPECT_EQ(pattern.count_wrong(whole, reinterpret_cast<const std::byte*>(a.data())), 0u);
}

TEST(Pattern, SeesOneWrongElementAndMisplacedBlocks) {
  const Workload workload = reduction(Datatype::f32, OperatorKind::sum);
  std::vector<float> values = contribution<float>(workload, 3, 9000);
  Pattern pattern{workload};
  const auto wrong = [&](const Region& region) {
    return pattern.count_wrong(std::vector<Region>{region},
                               reinterpret_cast<const std::byte*>(values.data()));
  };
  EXPECT_EQ(wrong({0, 9000, 3, 0}), 0u);
  EXPECT_GT(wrong({0, 9000, 2, 0}), 8900u);     // another rank's
  EXPECT_GT(wrong({0, 4096, 3, 4096}), 4000u);  // another block
  values[5000] += 1;
  EXPECT_EQ(wrong({0, 9000, 3, 0}), 1u);
}

TEST(Pattern, HashTellsValuesApart) {
  const Workload workload = reduction(Datatype::f64, OperatorKind::sum);
  std::vector<double> values = contribution<double>(workload, 0, 100);
  Pattern pattern{workload};
  const std::vector<Region> whole{{0, 100, 0, 0}};
  const auto hash = [&] {
    return pattern.hash(whole, reinterpret_cast<const std::byte*>(values.data()));
  };
  const std::uint64_t before = hash();
  std::swap(values[3], values[4]);
  EXPECT_NE(hash(), before);
  std::swap(values[3], values[4]);
  EXPECT_EQ(hash(), before);
}

TEST(Workload, BytesAreTheWholeVectorInWholeElements) {
  const Workload gather{.collective = Collective::all_gather, .type = Datatype::f32, .size = 3};
  EXPECT_EQ(with_bytes(gather, 8).count, 1u);  // never nothing
  EXPECT_EQ(total_bytes(with_bytes(gather, 8)), 12u);
  EXPECT_EQ(with_bytes(gather, 1200).count, 100u);
  EXPECT_EQ(with_bytes({.collective = Collective::all_reduce, .type = Datatype::f64}, 1024).count,
            128u);
  EXPECT_EQ(with_bytes({.collective = Collective::barrier}, 1024).count, 0u);
  EXPECT_DOUBLE_EQ(bus_factor({.collective = Collective::all_reduce, .size = 4}), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor({.collective = Collective::all_gather, .size = 4}), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor({.collective = Collective::broadcast, .size = 4}), 1);
}

// Executes a call on all ranks' buffers by definition. Uneven blocks have as many elements as two
// times a rank's number from one on, of an average of one more than there are ranks.
void run_by_definition(const Workload& workload, std::vector<Buffers>& ranks) {
  const std::size_t bytes = size_of(workload.type);
  const auto n = static_cast<Rank>(ranks.size());
  const auto elements = [&](Rank from, Rank to) -> std::size_t {
    if (!workload.uneven) return workload.count;
    if (workload.collective == Collective::all_gather)
      return 2 * static_cast<std::size_t>(from + 1);
    if (workload.collective == Collective::scatter) return 2 * static_cast<std::size_t>(to + 1);
    return 2 * static_cast<std::size_t>((from + to) % n + 1);
  };
  const auto block = [&](Rank rank, Rank index) {
    const auto* in =
        static_cast<const std::byte*>(ranks[static_cast<std::size_t>(rank)].calls().front().in);
    for (Rank before = 0; before < index; ++before) in += elements(rank, before) * bytes;
    return in;
  };
  std::vector<std::vector<std::byte>> outputs;
  for (Rank me = 0; me < n; ++me) {
    std::vector<std::byte> out;
    const auto append = [&](Rank rank, Rank index) {
      const std::byte* const from = block(rank, index);
      out.insert(out.end(), from, from + elements(rank, me) * bytes);
    };
    if (workload.collective == Collective::broadcast) append(workload.root, 0);
    if (workload.collective == Collective::scatter) append(workload.root, me);
    for (Rank r = 0; r < n; ++r) {
      if (workload.collective == Collective::all_gather) append(r, 0);
      if (workload.collective == Collective::all_to_all) append(r, me);
    }
    outputs.push_back(out);
  }
  for (std::size_t r = 0; r < ranks.size(); ++r)
    std::memcpy(ranks[r].calls().front().out, outputs[r].data(), outputs[r].size());
}

TEST(Buffers, HoldWhatEachCollectiveMustGive) {
  for (const Collective collective : {Collective::broadcast, Collective::scatter,
                                      Collective::all_gather, Collective::all_to_all}) {
    for (const int kind : {0, 1, 2, 3}) {
      const bool in_place = kind % 2 != 0;
      const bool uneven = kind >= 2 && collective != Collective::broadcast;
      if (in_place && !has_in_place({.collective = collective})) continue;
      const Workload workload{.collective = collective,
                              .count = 4,
                              .type = Datatype::i32,
                              .root = 1,
                              .size = 3,
                              .in_place = in_place,
                              .uneven = uneven};
      std::vector<Buffers> ranks;
      for (Rank rank = 0; rank < 3; ++rank) ranks.emplace_back(workload, rank);
      for (Buffers& buffers : ranks) {
        buffers.poison();
        buffers.refresh();
      }
      run_by_definition(workload, ranks);
      for (Buffers& buffers : ranks)
        EXPECT_EQ(buffers.check().wrong, 0u) << name_of(workload) << in_place;
      const bool same = ranks[0].check().hash == ranks[2].check().hash;
      EXPECT_EQ(same, is_same_everywhere({.collective = collective})) << tutti::name_of(collective);
    }
  }
}

TEST(Workload, UnevenBlocksGrowEvenlyAndComeToAsMuch) {
  Workload workload{.collective = Collective::all_gather, .size = 4, .uneven = true};
  const auto counts = [&](std::size_t bytes) {
    workload = with_bytes(workload, bytes);
    std::vector<std::size_t> blocks;
    for (Rank rank = 0; rank < workload.size; ++rank) blocks.push_back(block_count(workload, rank));
    return blocks;
  };
  EXPECT_EQ(counts(4000), (std::vector<std::size_t>{100, 200, 300, 400}));
  EXPECT_EQ(total_bytes(workload), 4000U);
  EXPECT_EQ(counts(8), (std::vector<std::size_t>{0, 1, 1, 2})) << "one each, on average";
  workload.size = 4096;
  workload.count = std::size_t{1} << 40U;
  EXPECT_EQ(block_count(workload, 4095), workload.count * 8192 / 4097 + 1) << "beyond 64 bits";
}

TEST(Buffers, TellUnevenBlocksToWhoNeedsToKnow) {
  const auto calls = [](Collective collective, Rank rank) {
    return Buffers{{.collective = collective, .count = 2, .root = 1, .size = 3, .uneven = true},
                   rank};
  };
  const std::vector<std::size_t> ramp{1, 2, 3};
  const auto is_ramp = [&](Counts counts) { return std::ranges::equal(counts, ramp); };
  const Buffers gather = calls(Collective::all_gather, 2);
  EXPECT_TRUE(is_ramp(gather.counts()));
  EXPECT_FALSE(gather.calls().front().own_counts);
  EXPECT_TRUE(is_ramp(gather.native_calls().front().out_counts));
  EXPECT_EQ(gather.calls().front().in_count, 3U);
  const Buffers scatter = calls(Collective::scatter, 1);
  EXPECT_TRUE(scatter.counts().empty());
  EXPECT_TRUE(scatter.calls().front().own_counts);
  EXPECT_TRUE(is_ramp(scatter.calls().front().in_counts));
  const Buffers other = calls(Collective::gather, 0);
  EXPECT_TRUE(other.calls().front().own_counts);
  EXPECT_TRUE(other.calls().front().out_counts.empty());
  const Buffers exchange = calls(Collective::all_to_all, 1);
  EXPECT_TRUE(
      std::ranges::equal(exchange.calls().front().in_counts, std::vector<std::size_t>{2, 3, 1}));
  EXPECT_EQ(exchange.calls().front().in_count, 6U) << "as much as any other rank";
}

// Runs calls, each of which is a message, by definition: those of all ranks, as a queue.
void run_messages(std::vector<Buffers>& ranks) {
  std::map<std::pair<Rank, Rank>, std::vector<std::byte>> sent;
  for (const bool receives : {false, true})
    for (Rank rank = 0; rank < static_cast<Rank>(ranks.size()); ++rank)
      for (const Call& call : ranks[static_cast<std::size_t>(rank)].calls()) {
        const auto* const in = static_cast<const std::byte*>(call.in);
        if (!receives && in != nullptr)
          sent[{rank, call.to}].assign(in, in + call.in_count * call.element_bytes);
        if (receives && call.out != nullptr)
          std::memcpy(call.out, sent.at({call.from, rank}).data(),
                      call.out_count * call.element_bytes);
      }
}

TEST(Buffers, HoldWhatMessagesMustBring) {
  for (const PointToPoint message : {PointToPoint::send, PointToPoint::sendrecv}) {
    const Workload workload =
        with_bytes({.type = Datatype::i32, .size = 3, .point_to_point = message}, 400);
    EXPECT_EQ(workload.count, 100U) << "of one vector";
    EXPECT_DOUBLE_EQ(bus_factor(workload), 1);
    EXPECT_FALSE(has_in_place(workload) || is_same_everywhere(workload));
    std::vector<Buffers> ranks;
    for (Rank rank = 0; rank < 3; ++rank) ranks.emplace_back(workload, rank);
    for (Buffers& buffers : ranks) {
      buffers.poison();
      buffers.refresh();
    }
    EXPECT_GE(ranks[0].check().wrong, 90U);
    run_messages(ranks);
    for (Buffers& buffers : ranks) EXPECT_EQ(buffers.check().wrong, 0U) << name_of(workload);
    const bool is_ring = message == PointToPoint::sendrecv;
    EXPECT_EQ(trips(workload), is_ring ? 1 : 2);
    EXPECT_EQ(ranks[1].calls().size(), is_ring ? 1U : 0U);
    ASSERT_EQ(ranks[0].calls().size(), is_ring ? 1U : 2U);
    EXPECT_EQ(ranks[0].calls().front().to, is_ring ? 1 : 2);
    EXPECT_EQ(ranks[2].calls().front().point_to_point,
              is_ring ? PointToPoint::sendrecv : PointToPoint::recv);
  }
  EXPECT_FALSE(refusal_of({.size = 1, .point_to_point = PointToPoint::send}).empty());
}

TEST(Buffers, StaleResultsChangedInputsAndStrayWritesAreWrong) {
  const Workload workload{
      .collective = Collective::all_gather, .count = 5, .type = Datatype::i32, .size = 1};
  Buffers buffers{workload, 0};
  buffers.refresh();
  std::memcpy(buffers.calls().front().out, buffers.calls().front().in, 20);
  EXPECT_EQ(buffers.check().wrong, 0u);
  auto* out = static_cast<std::int32_t*>(buffers.calls().front().out);
  out[5] = 0;  // one past the end
  EXPECT_EQ(buffers.check().wrong, 1u);
  buffers.poison();
  EXPECT_GE(buffers.check().wrong, 5u);
  std::memset(const_cast<void*>(buffers.calls().front().in), 0x11, 4);
  EXPECT_GE(buffers.check().wrong, 6u);
}

}  // namespace
}  // namespace tutti::perf
