// Wrong arguments throw from the call, say what would be right, and change nothing.
#include <memory>
#include <string>
#include <utility>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/collectives/rows.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {
namespace {

constexpr int kSize = 3;

using Vector = std::vector<int>;
std::span<const int> in_of(const Vector& vector) {
  return vector;
}

/// The arrays of wrong calls, which take parts of them.
struct Arrays {
  Vector a = Vector(16);
  Vector b = Vector(16);
  std::vector<float> floats = std::vector<float>(4);

  [[nodiscard]] std::span<const int> in(std::size_t count) const { return in_of(a).first(count); }
  [[nodiscard]] std::span<int> out(std::size_t count) { return std::span{b}.first(count); }
  /// A part of the input's array, to overlap with it.
  [[nodiscard]] std::span<int> same(std::size_t begin, std::size_t count) {
    return std::span{a}.subspan(begin, count);
  }
  /// An all_reduce with which all is right.
  [[nodiscard]] Call raw() { return call::all_reduce(in(4), out(4), sum); }
};

/// A wrong call: on rank 0 of three, and a word that the message must contain.
struct Wrong {
  const char* name;
  const char* says;
  void (*call)(Communicator& c, Arrays& x);
};

void PrintTo(const Wrong& wrong, std::ostream* stream) {
  *stream << wrong.name;
}

const Wrong kWrongBuffers[] = {
    {"all_reduce_spans_differ", "output",
     [](auto& c, auto& x) { c.all_reduce(x.in(3), x.out(4)); }},
    {"all_gather_output_too_small", "9", [](auto& c, auto& x) { c.all_gather(x.in(3), x.out(8)); }},
    {"reduce_scatter_input_too_small", "9",
     [](auto& c, auto& x) { c.reduce_scatter(x.in(8), x.out(3)); }},
    {"scatter_input_too_small_at_the_root", "9",
     [](auto& c, auto& x) { c.scatter(x.in(8), x.out(3), 0); }},
    {"all_to_all_not_a_multiple", "multiple",
     [](auto& c, auto& x) { c.all_to_all(x.in(4), x.out(4)); }},
    {"reduce_output_differs_at_the_root", "output",
     [](auto& c, auto& x) { c.reduce(x.in(4), x.out(5), sum, 0); }},
    {"null_input", "null",
     [](auto& c, auto& x) {
       Call call = x.raw();
       call.in = nullptr;
       c.run(call);
     }},
    {"null_output", "null",
     [](auto& c, auto& x) {
       Call call = x.raw();
       call.out = nullptr;
       c.run(call);
     }},
    {"partial_overlap", "overlap", [](auto& c, auto& x) { c.all_reduce(x.in(6), x.same(1, 6)); }},
    {"the_last_of_the_input_is_the_first_of_the_output", "overlap",
     [](auto& c, auto& x) { c.all_reduce(x.in(6), x.same(5, 6)); }},
    {"the_last_of_the_output_is_the_first_of_the_input", "overlap",
     [](auto& c, auto& x) { c.all_reduce(x.in(11).subspan(5), x.same(0, 6)); }},
    {"all_gather_input_is_another_block_of_the_output", "overlap",
     [](auto& c, auto& x) { c.all_gather(x.in(6).subspan(3), x.same(0, 9)); }},
    {"all_to_all_input_is_another_block_of_the_output", "overlap",
     [](auto& c, auto& x) { c.all_to_all(x.in(9), x.same(3, 9)); }},
    {"all_to_allv_in_place_of_more", "overlap",
     [](auto& c, auto& x) {
       const std::array<std::size_t, 3> in{3, 3, 3};
       const std::array<std::size_t, 3> out{3, 1, 2};
       c.all_to_allv(x.in(9), in, x.same(0, 6), out);
     }},
};

const Wrong kWrongWords[] = {
    {"root_too_large", "root 3", [](auto& c, auto& x) { c.broadcast(x.out(4), kSize); }},
    {"root_negative", "root -1", [](auto& c, auto& x) { c.reduce(x.in(4), x.out(4), sum, -1); }},
    {"bitwise_operator_on_floats", "f32", [](auto& c, auto& x) { c.all_reduce(x.floats, bit_or); }},
    {"min_loc_on_plain_numbers", "min_loc",
     [](auto& c, auto& x) { c.all_reduce(x.out(4), min_loc); }},
    {"sum_on_opaque_elements", "opaque",
     [](auto& c, auto&) {
       struct Pair {
         int a, b;
       };
       std::vector<Pair> pairs(4);
       c.all_reduce(std::span{pairs}, sum);
     }},
    {"no_operator", "operator",
     [](auto& c, auto& x) {
       Call call = x.raw();
       call.op = nullptr;
       c.run(call);
     }},
    {"user_operator_of_no_function", "function",
     [](auto& c, auto& x) { c.all_reduce(x.out(4), Operator{OperatorKind::user}); }},
    {"user_operator_of_an_empty_function", "function",
     [](auto& c, auto& x) {
       c.all_reduce(x.out(4), Operator{UserFunction{}, true});
     }},
    {"unknown_algorithm", "ring",
     [](auto& c, auto& x) { c.all_reduce(x.out(4), sum, {.algorithm = "rign"}); }},
    {"algorithm_of_another_collective", "broadcast",
     [](auto& c, auto& x) { c.broadcast(x.out(4), 0, {.algorithm = "recursive_doubling"}); }},
    {"algorithm_that_does_not_serve_three_ranks", "power",
     [](auto& c, auto& x) {
       c.all_gather(x.in(3), x.out(9), {.algorithm = "recursive_doubling"});
     }},
    {"parameter_out_of_range", "k=1",
     [](auto& c, auto& x) { c.broadcast(x.out(4), 0, {.algorithm = "knomial:k=1"}); }},
    {"parameter_of_an_algorithm_without", "parameter",
     [](auto& c, auto& x) { c.all_reduce(x.out(4), sum, {.algorithm = "ring:k=3"}); }},
    {"skips_that_leave_gaps", "skip",
     [](auto& c, auto& x) { c.all_reduce(x.out(4), sum, {.algorithm = "circulant:skips=1"}); }},
    {"counts_of_a_single_block", "counts",
     [](auto& c, auto& x) {
       const std::size_t counts[] = {2, 1, 1};
       c.all_reduce(x.out(4), sum, {.counts = counts});
     }},
    {"too_few_counts", "counts",
     [](auto& c, auto& x) {
       const std::size_t counts[] = {2, 2};
       c.all_gather(x.in(2), x.out(4), {.counts = counts});
     }},
    {"counts_that_contradict_the_input", "input",
     [](auto& c, auto& x) {
       const std::size_t counts[] = {1, 2, 3};
       c.all_gather(x.in(2), x.out(6), {.counts = counts});
     }},
    {"element_size_that_contradicts_the_datatype", "i32",
     [](auto& c, auto& x) {
       Call call = x.raw();
       call.element_bytes = 8;
       c.run(call);
     }},
    {"elements_of_no_size", "element",
     [](auto& c, auto& x) {
       Call call = call::all_to_all(x.in(3), x.out(3));
       call.type = Datatype::opaque;
       call.element_bytes = 0;
       c.run(call);
     }},
    {"total_that_no_memory_can_hold", "large",
     [](auto& c, auto& x) {
       Call call = call::all_gather(x.in(3), x.out(9));
       call.in_count = ~std::size_t{0} / 4;
       call.out_count = call.in_count * 3;
       c.run(call);
     }},
};

/// A transport that does not let a call wait that should have been refused.
class Impatient final : public Wrapper {
 public:
  Impatient(std::unique_ptr<Transport> inner, std::shared_ptr<bool> patient)
      : Wrapper{std::move(inner)}, patient_{std::move(patient)} {}
  void poll() override {
    if (!*patient_) throw Error{ErrorCode::transport, "the call was not refused"};
    Wrapper::poll();
  }

 private:
  std::shared_ptr<bool> patient_;
};

class Arguments : public ::testing::TestWithParam<Wrong> {};

TEST_P(Arguments, ThatAreWrongThrowAndChangeNothing) {
  const auto patient = std::make_shared<bool>(false);
  WorldOptions options{};
  options.cluster.size = kSize;
  options.wrap = [patient](std::unique_ptr<Transport> inner) {
    return std::make_unique<Impatient>(std::move(inner), patient);
  };
  World world{options};
  const Wrong& wrong = GetParam();
  for (int again = 0; again < 2; ++again) {
    try {
      Arrays arrays;
      wrong.call(world[0], arrays);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      EXPECT_NE(std::string{error.what()}.find(wrong.says), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(world.cluster().transfers(), 0u) << "nothing may be sent";
  *patient = true;
  Experiment experiment{{.collective = Collective::all_reduce,
                         .size = kSize,
                         .counts = {10},
                         .model = model_of(Datatype::i32, OperatorKind::sum)}};
  EXPECT_EQ(run(world, experiment), "") << "the communicator stays usable";
}

std::string name_of_wrong(const ::testing::TestParamInfo<Wrong>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Buffers, Arguments, ::testing::ValuesIn(kWrongBuffers), name_of_wrong);
INSTANTIATE_TEST_SUITE_P(Words, Arguments, ::testing::ValuesIn(kWrongWords), name_of_wrong);

TEST(Arguments, OfTheCommunicatorAreChecked) {
  for (const int segments : {0, -1, 9}) {
    sim::Cluster cluster{{.size = 1}};
    EXPECT_THROW(static_cast<void>(make_communicator(cluster.transport(0), make_host_memory(),
                                                     {.segments_in_flight = segments})),
                 Error);
  }
}

TEST(Arguments, ThatNobodyReadsAreIgnored) {
  // A rank other than the root may pass any value beside its part.
  World world{kSize};
  std::vector<Vector> in(kSize, Vector(6));
  std::vector<Vector> out(kSize, Vector(6, -1));
  std::vector<Task> tasks{};
  for (Rank rank = 0; rank < kSize; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    in[r].assign(6, rank + 1);
    tasks.push_back(task_of(
        rank, rank == 1
                  ? world[rank].async().reduce(in_of(in[r]), std::span{out[r]}, sum, 1)
                  : world[rank].async().reduce(in_of(in[r]), std::span{out[r]}.first(r), sum, 1)));
  }
  ASSERT_TRUE(world.drive(tasks));
  EXPECT_EQ(out[1], Vector(6, 6));
  EXPECT_EQ(out[0], Vector(6, -1)) << "the output of another rank than the root was written";
  EXPECT_EQ(out[2], Vector(6, -1)) << "the output of another rank than the root was written";
}

TEST(ArgumentsThatAreRight, BuffersMayStandSideBySide) {
  World world{1};
  Vector a{1, 2, 3, 4, 5, 6};
  world[0].all_reduce(in_of(a).first(3), std::span{a}.subspan(3));
  EXPECT_EQ(a, (Vector{1, 2, 3, 1, 2, 3}));
  a = {1, 2, 3, 4, 5, 6};
  world[0].all_reduce(in_of(a).subspan(3), std::span{a}.first(3));
  EXPECT_EQ(a, (Vector{4, 5, 6, 4, 5, 6}));
}

}  // namespace
}  // namespace tutti::harness
