// Wrong arguments throw from the call, say what would be right, and change nothing.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "rows.hpp"
#include "tests/support/wrapper.hpp"

namespace tutti::harness {
namespace {

using enum Collective;

constexpr int kSize = 3;

/// A wrong call: on rank 0 of three, and a word that the message must contain.
struct Wrong {
  const char* name;
  std::function<void(Communicator&)> call;
  const char* says;
};

void PrintTo(const Wrong& wrong, std::ostream* stream) {
  *stream << wrong.name;
}

using Vector = std::vector<int>;
std::span<const int> in_of(const Vector& vector) {
  return vector;
}

std::vector<Wrong> wrong_buffers() {
  return {
      {"all_reduce_spans_differ",
       [](Communicator& c) {
         Vector a(3), b(4);
         c.all_reduce(in_of(a), std::span{b});
       },
       "output"},
      {"all_gather_output_too_small",
       [](Communicator& c) {
         Vector a(3), b(8);
         c.all_gather(in_of(a), std::span{b});
       },
       "9"},
      {"reduce_scatter_input_too_small",
       [](Communicator& c) {
         Vector a(8), b(3);
         c.reduce_scatter(in_of(a), std::span{b});
       },
       "9"},
      {"scatter_input_too_small_at_the_root",
       [](Communicator& c) {
         Vector a(8), b(3);
         c.scatter(in_of(a), std::span{b}, 0);
       },
       "9"},
      {"all_to_all_not_a_multiple",
       [](Communicator& c) {
         Vector a(4), b(4);
         c.all_to_all(in_of(a), std::span{b});
       },
       "multiple"},
      {"reduce_output_differs_at_the_root",
       [](Communicator& c) {
         Vector a(4), b(5);
         c.reduce(in_of(a), std::span{b}, sum, 0);
       },
       "output"},
      {"null_input",
       [](Communicator& c) {
         Vector b(4);
         c.run({.collective = all_reduce,
                .out = b.data(),
                .in_count = 4,
                .out_count = 4,
                .type = Datatype::i32,
                .element_bytes = 4,
                .op = &sum});
       },
       "null"},
      {"null_output",
       [](Communicator& c) {
         Vector a(4);
         c.run({.collective = all_reduce,
                .in = a.data(),
                .in_count = 4,
                .out_count = 4,
                .type = Datatype::i32,
                .element_bytes = 4,
                .op = &sum});
       },
       "null"},
      {"partial_overlap",
       [](Communicator& c) {
         Vector a(8);
         c.all_reduce(in_of(a).first(6), std::span{a}.subspan(1, 6));
       },
       "overlap"},
      {"the_last_of_the_input_is_the_first_of_the_output",
       [](Communicator& c) {
         Vector a(11);
         c.all_reduce(in_of(a).first(6), std::span{a}.subspan(5));
       },
       "overlap"},
      {"the_last_of_the_output_is_the_first_of_the_input",
       [](Communicator& c) {
         Vector a(11);
         c.all_reduce(in_of(a).subspan(5), std::span{a}.first(6));
       },
       "overlap"},
      {"all_gather_input_is_another_block_of_the_output",
       [](Communicator& c) {
         Vector a(9);
         c.all_gather(in_of(a).subspan(3, 3), std::span{a});
       },
       "overlap"},
      {"all_to_all_input_is_another_block_of_the_output",
       [](Communicator& c) {
         Vector a(12);
         c.all_to_all(in_of(a).first(9), std::span{a}.subspan(3));
       },
       "overlap"},
      {"all_to_allv_in_place_of_more",
       [](Communicator& c) {
         Vector a(9);
         const std::array<std::size_t, 3> in{3, 3, 3};
         const std::array<std::size_t, 3> out{3, 1, 2};
         c.all_to_allv(in_of(a), in, std::span{a}.first(6), out);
       },
       "overlap"},
  };
}

std::vector<Wrong> wrong_words() {
  return {
      {"root_too_large",
       [](Communicator& c) {
         Vector a(4);
         c.broadcast(std::span{a}, kSize);
       },
       "root 3"},
      {"root_negative",
       [](Communicator& c) {
         Vector a(4), b(4);
         c.reduce(in_of(a), std::span{b}, sum, -1);
       },
       "root -1"},
      {"bitwise_operator_on_floats",
       [](Communicator& c) {
         std::vector<float> a(4);
         c.all_reduce(std::span{a}, bit_or);
       },
       "f32"},
      {"min_loc_on_plain_numbers",
       [](Communicator& c) {
         Vector a(4);
         c.all_reduce(std::span{a}, min_loc);
       },
       "min_loc"},
      {"sum_on_opaque_elements",
       [](Communicator& c) {
         struct Pair {
           int a, b;
         };
         std::vector<Pair> a(4);
         c.all_reduce(std::span{a}, sum);
       },
       "opaque"},
      {"no_operator",
       [](Communicator& c) {
         Vector a(4), b(4);
         c.run({.collective = all_reduce,
                .in = a.data(),
                .out = b.data(),
                .in_count = 4,
                .out_count = 4,
                .type = Datatype::i32,
                .element_bytes = 4});
       },
       "operator"},
      {"user_operator_of_no_function",
       [](Communicator& c) {
         Vector a(4);
         c.all_reduce(std::span{a}, Operator{OperatorKind::user});
       },
       "function"},
      {"user_operator_of_an_empty_function",
       [](Communicator& c) {
         Vector a(4);
         c.all_reduce(std::span{a}, Operator{UserFunction{}, true});
       },
       "function"},
      {"unknown_algorithm",
       [](Communicator& c) {
         Vector a(4);
         c.all_reduce(std::span{a}, sum, {.algorithm = "rign"});
       },
       "ring"},
      {"algorithm_of_another_collective",
       [](Communicator& c) {
         Vector a(4);
         c.broadcast(std::span{a}, 0, {.algorithm = "recursive_doubling"});
       },
       "broadcast"},
      {"algorithm_that_does_not_serve_three_ranks",
       [](Communicator& c) {
         Vector a(3), b(9);
         c.all_gather(in_of(a), std::span{b}, {.algorithm = "recursive_doubling"});
       },
       "power"},
      {"parameter_out_of_range",
       [](Communicator& c) {
         Vector a(4);
         c.broadcast(std::span{a}, 0, {.algorithm = "knomial:k=1"});
       },
       "k=1"},
      {"parameter_of_an_algorithm_without",
       [](Communicator& c) {
         Vector a(4);
         c.all_reduce(std::span{a}, sum, {.algorithm = "ring:k=3"});
       },
       "parameter"},
      {"skips_that_leave_gaps",
       [](Communicator& c) {
         Vector a(4);
         c.all_reduce(std::span{a}, sum, {.algorithm = "circulant:skips=1"});
       },
       "skip"},
      {"counts_of_a_single_block",
       [](Communicator& c) {
         Vector a(4);
         const std::size_t counts[] = {2, 1, 1};
         c.all_reduce(std::span{a}, sum, {.counts = counts});
       },
       "counts"},
      {"too_few_counts",
       [](Communicator& c) {
         Vector a(2), b(4);
         const std::size_t counts[] = {2, 2};
         c.all_gather(in_of(a), std::span{b}, {.counts = counts});
       },
       "counts"},
      {"counts_that_contradict_the_input",
       [](Communicator& c) {
         Vector a(2), b(6);
         const std::size_t counts[] = {1, 2, 3};
         c.all_gather(in_of(a), std::span{b}, {.counts = counts});
       },
       "input"},
      {"element_size_that_contradicts_the_datatype",
       [](Communicator& c) {
         Vector a(4), b(4);
         c.run({.collective = all_reduce,
                .in = a.data(),
                .out = b.data(),
                .in_count = 4,
                .out_count = 4,
                .type = Datatype::i32,
                .element_bytes = 8,
                .op = &sum});
       },
       "i32"},
      {"elements_of_no_size",
       [](Communicator& c) {
         Vector a(4), b(4);
         c.run({.collective = all_to_all,
                .in = a.data(),
                .out = b.data(),
                .in_count = 3,
                .out_count = 3,
                .type = Datatype::opaque,
                .element_bytes = 0});
       },
       "element"},
      {"total_that_no_memory_can_hold",
       [](Communicator& c) {
         Vector a(4), b(4);
         const std::size_t huge = ~std::size_t{0} / 4;
         c.run({.collective = all_gather,
                .in = a.data(),
                .out = b.data(),
                .in_count = huge,
                .out_count = huge * 3,
                .type = Datatype::i32,
                .element_bytes = 4});
       },
       "large"},
  };
}

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
      wrong.call(world[0]);
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
      EXPECT_NE(std::string{error.what()}.find(wrong.says), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(world.cluster().transfers(), 0u) << "nothing may be sent";
  *patient = true;
  Experiment experiment{{.collective = all_reduce,
                         .size = kSize,
                         .counts = {10},
                         .model = model_of(Datatype::i32, OperatorKind::sum)}};
  EXPECT_EQ(run(world, experiment), "") << "the communicator stays usable";
}

std::string name_of_wrong(const ::testing::TestParamInfo<Wrong>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Buffers, Arguments, ::testing::ValuesIn(wrong_buffers()), name_of_wrong);
INSTANTIATE_TEST_SUITE_P(Words, Arguments, ::testing::ValuesIn(wrong_words()), name_of_wrong);

TEST(Arguments, OfTheCommunicatorAreChecked) {
  for (const int segments : {0, -1, 9}) {
    sim::Cluster cluster{{.size = 1}};
    EXPECT_THROW(static_cast<void>(make_communicator(cluster.transport(0), make_host_memory(),
                                                     {.segments_in_flight = segments})),
                 Error);
  }
}

TEST(Arguments, ThatNobodyReadsAreIgnored) {
  // What a rank that is not the root gives beside its part does not matter.
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
