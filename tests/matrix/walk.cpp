#include "walk.hpp"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include <tutti/batch.hpp>

namespace tutti::matrix {
namespace {

using harness::Experiment;

constexpr int kTag = 5;
constexpr const char* kInPlace = " in place";

/// The host's own memory.
class OnHost final : public Placement {
 public:
  [[nodiscard]] Call place(const Call& call) override { return call; }
  void store() override {}
  void fetch() override {}
  void clear() override {}
  [[nodiscard]] bool runs_in_order() const override { return false; }
  [[nodiscard]] Options options(Options options) const override { return options; }
};

/// The calls of one rank: one, or two of messages that go one way.
std::vector<Call> calls_of(const Cell& cell, Experiment& experiment, Rank rank) {
  Call call = experiment.call(rank);
  if (cell.operation->messages == PointToPoint::none) return {call};
  call.point_to_point = PointToPoint::sendrecv;
  call.to = (rank + 1) % cell.size;
  call.from = (rank + cell.size - 1) % cell.size;
  call.tag = kTag;
  if (cell.operation->messages == PointToPoint::sendrecv) return {call};
  Call send = call;
  send.point_to_point = PointToPoint::send;
  send.out = nullptr;
  send.out_count = 0;
  Call recv = call;
  recv.point_to_point = PointToPoint::recv;
  recv.in = nullptr;
  recv.in_count = 0;
  return {send, recv};
}

/// Starts calls, together where they have to.
template <class Start>
void start_all(const Placement& placement, const Start& start) {
  if (placement.runs_in_order()) batch(start);
  else start();
}

/// Around the ring a message may have to wait for its receiver: so every other rank receives first,
/// and the only rank of one begins to.
void run_blocking(Communicator& world, std::vector<Call> calls, const Options& options,
                  const Placement& placement) {
  if (calls.size() > 1 && placement.runs_in_order() && world.size() % 2 == 1)
    return batch([&] {
      for (const Call& call : calls) world.run(call, options);
    });
  if (calls.size() > 1 && world.size() == 1) {
    Request recv = world.async().run(calls[1], options);
    world.run(calls[0], options);
    return recv.wait();
  }
  if (world.rank() % 2 == 1) std::reverse(calls.begin(), calls.end());
  for (const Call& call : calls) world.run(call, options);
}

void run_nonblocking(Communicator& world, const std::vector<Call>& calls, const Options& options,
                     const Placement& placement) {
  std::vector<Request> requests;
  start_all(placement, [&] {
    for (const Call& call : calls) requests.push_back(world.async().run(call, options));
  });
  for (Request& request : requests)
    if (!request.test()) request.wait();
}

/// Runs a cell, a prepared one twice. @return what is wrong, if anything is.
std::string run(Communicator& world, const Cell& cell, Placement& placement) {
  const Rank self = world.rank();
  Experiment experiment{cell.problem()};
  placement.clear();
  std::vector<Call> calls = calls_of(cell, experiment, self);
  for (Call& call : calls) call = placement.place(call);
  const Options options = placement.options(
      cell.operation->messages == PointToPoint::none ? experiment.options() : Options{});
  const auto problem = [&] {
    placement.fetch();
    return experiment.problem(self).value_or("");
  };
  if (cell.form == Form::blocking) run_blocking(world, calls, options, placement);
  if (cell.form == Form::nonblocking) run_nonblocking(world, calls, options, placement);
  if (cell.form != Form::persistent) return problem();
  std::vector<Plan> plans;
  for (const Call& call : calls) plans.push_back(world.plan().run(call, options));
  for (int turn = 0; turn < 2; ++turn) {
    experiment.restore(self);
    placement.store();
    start_all(placement, [&] {
      for (Plan& plan : plans) plan.start();
    });
    for (Plan& plan : plans) plan.wait();
    if (std::string wrong = problem(); !wrong.empty()) return wrong;
  }
  return {};
}

/// A barrier has no result: all must have entered before any leaves, by the clock of the machine.
std::string run_barrier(Communicator& world, const Cell& cell, Placement& placement) {
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  const std::int64_t entered = now();
  const std::string problem = run(world, cell, placement);
  const std::int64_t left = now();
  std::vector<std::int64_t> all(static_cast<std::size_t>(cell.size));
  world.all_gather(std::span{&entered, 1}, std::span{all});
  for (const std::int64_t other : all)
    if (other > left) return "a rank entered after this one had left";
  return problem;
}

/// @return whether a call was refused, and why was said.
bool is_refused(const Result<void>& result) {
  return !result && result.error().code() == ErrorCode::invalid_argument &&
         std::string{result.error().what()}.find("is not defined for datatype") !=
             std::string::npos;
}

}  // namespace

void Report::add(std::string_view what, std::string_view type) {
  std::vector<std::string>& types = right[std::string{what}];
  if (std::ranges::find(types, type) == types.end()) types.emplace_back(type);
}

Report walk(Communicator& world, std::span<const Cell> cells, Placement* placement) {
  OnHost on_host;
  Placement& place = placement == nullptr ? on_host : *placement;
  Report report;
  for (const Cell& cell : cells) {
    const bool is_barrier = cell.operation->collective == Collective::barrier;
    try {
      std::string problem = is_barrier ? run_barrier(world, cell, place) : run(world, cell, place);
      if (!problem.empty()) {
        report.problems.push_back(cell.describe() + ": " + problem);
        continue;
      }
      report.add(cell.operation->name, name_of(cell.type));
      if (cell.in_place)
        report.add(std::string{cell.operation->name} + kInPlace, name_of(cell.type));
    } catch (const Error& error) {
      report.problems.push_back(cell.describe() + " threw: " + error.what());
      return report;  // the communicator has failed
    }
  }
  return report;
}

Report try_operators(Communicator& world, Placement* placement) {
  OnHost on_host;
  Placement& place = placement == nullptr ? on_host : *placement;
  Report report;
  const UserFunction nothing = [](const void*, const void*, void*, std::size_t) {};
  // Without elements: what operators make of some the cells show.
  for (int i = 0; i < kOperatorKinds; ++i)
    for (int j = 0; j < kDatatypes; ++j) {
      const auto kind = static_cast<OperatorKind>(i);
      const auto type = static_cast<Datatype>(j);
      const Operator op = kind == OperatorKind::user ? Operator{nothing, true} : Operator{kind};
      place.clear();
      const Call call = place.place(
          {.type = type, .element_bytes = type == Datatype::opaque ? 3 : size_of(type), .op = &op});
      const Result<void> result = world.try_().run(call, place.options({}));
      const std::string what = std::string{name_of(kind)} + " of " + std::string{name_of(type)};
      if (is_defined(kind, type) && result) report.add(name_of(kind), name_of(type));
      else if (is_defined(kind, type))
        report.problems.push_back(what + ": " + result.error().what());
      else if (!is_refused(result)) report.problems.push_back(what + " is not refused");
    }
  return report;
}

Report walk_all(Communicator& world, std::span<const Cell> cells, Placement* placement) {
  Report report = walk(world, cells, placement);
  if (!report.problems.empty()) return report;
  for (Report more : {try_operators(world, placement), pass_objects(world)}) {
    report.right.merge(more.right);
    for (std::string& problem : more.problems) report.problems.push_back(std::move(problem));
  }
  return report;
}

void expect_right(const Report& report, const std::string& transport, int size) {
  EXPECT_EQ(report.problems, std::vector<std::string>{});
  ::testing::Test::RecordProperty("transport", transport);
  ::testing::Test::RecordProperty("ranks", size);
  for (const auto& [what, types] : report.right) {
    std::string text;
    for (const std::string& type : types) text += (text.empty() ? "" : " ") + type;
    ::testing::Test::RecordProperty(what, text);
  }
}

}  // namespace tutti::matrix
