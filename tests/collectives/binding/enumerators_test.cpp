// A call made by hand may name what there is not.
#include <tutti/objects.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "tests/collectives/rows.hpp"

namespace tutti::harness {
namespace {

/// A call that is right.
Call right_call(const std::vector<long>& in, std::vector<long>& out) {
  return call::all_reduce(call::In<std::vector<long>&>{in}, out, sum);
}

struct WrongEnumerator {
  std::string says;
  std::function<void(Call&)> change;
};

/// Expects a communicator's error for the call, in every way to make one.
void expect_refused(Communicator& own, const Call& call, const std::string& says) {
  const std::vector<Error> errors{own.try_().run(call).error(), own.try_().start(call).error(),
                                  own.try_().plan(call).error(),
                                  detail::attempt([&] { return own.explain(call); }).error()};
  for (const Error& error : errors) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    EXPECT_NE(std::string{error.what()}.find(says), std::string::npos) << error.what();
  }
}

TEST(Enumerators, ThatThereAreNotAreRefused) {
  const Operator nothing{static_cast<OperatorKind>(99)};
  const Operator keeps{[](const void*, const void*, void*, std::size_t) {}, true};
  const auto no_type = [&](Call& call) {
    call.type = static_cast<Datatype>(99);
    call.element_bytes = 0;
  };
  const std::vector<WrongEnumerator> wrongs{
      {"collective " + std::to_string(kCollectives) + " does not exist",
       [](Call& call) { call.collective = Collective{kCollectives}; }},
      {"collective 255 does not exist", [](Call& call) { call.collective = Collective{255}; }},
      {"message 4 does not exist", [](Call& call) { call.point_to_point = PointToPoint{4}; }},
      {"message 255 does not exist",
       [](Call& call) {
         call.point_to_point = PointToPoint{255};
         call.tag = -1;
       }},
      {"operator 99 does not exist", [&](Call& call) { call.op = &nothing; }},
      {"operator 99 does not exist",
       [&](Call& call) {
         call.op = &nothing;
         call.collective = Collective::exscan;
       }},
      {"datatype 99 does not exist", no_type},
      {"datatype " + std::to_string(kDatatypes) + " does not exist",
       [](Call& call) { call.type = Datatype{kDatatypes}; }},
      {"datatype 99 does not exist",
       [&](Call& call) {
         no_type(call);
         call.op = &keeps;
       }},
      {"datatype 99 does not exist",
       [&](Call& call) {
         no_type(call);
         call.collective = Collective::broadcast;
       }},
      {"datatype 99 does not exist",
       [&](Call& call) {
         no_type(call);
         call.point_to_point = PointToPoint::sendrecv;
       }},
  };
  for (const int size : {1, 3}) {
    World world{size};
    std::vector<long> in(4, 1), out(4);
    for (const WrongEnumerator& wrong : wrongs) {
      Call call = right_call(in, out);
      wrong.change(call);
      expect_refused(world[0], call, wrong.says);
    }
    EXPECT_TRUE(world[0].try_().plan(right_call(in, out))) << "the communicator stays usable";
    EXPECT_EQ(world.cluster().transfers(), 0U);
  }
}

TEST(Enumerators, OfObjectCallsAreRefused) {
  World world{2};
  ObjectCall call{.kind = static_cast<ObjectCall::Kind>(7), .name = "mine", .bytes = Encoder{100}};
  const auto outcome =
      detail::attempt([&] { return detail::ObjectAccess::start(world[0], std::move(call)); });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string{outcome.error().what()}.find("kind 7 does not exist"), std::string::npos)
      << outcome.error().what();
  EXPECT_EQ(world.cluster().transfers(), 0U);
}

TEST(Enumerators, OfTheOptionsAreRefused) {
  sim::Cluster cluster{{.size = 1}};
  EXPECT_THROW(static_cast<void>(make_communicator(cluster.transport(0), make_host_memory(),
                                                   {.determinism = Determinism{5}})),
               Error);
}

}  // namespace
}  // namespace tutti::harness
