#include "inside_worlds.hpp"

#include <tutti/testing.hpp>

#include "tests/runtime/worlds.hpp"
#include "tests/support/patience.hpp"

namespace tutti::matrix {
namespace {

using std::chrono::seconds;

test::Setting setting_of(const std::string& transport, int size) {
  if (transport == "hybrid") return {size, "auto", 2};  // memory within, TCP between
  return {size, transport, transport == "tcp" ? size : 1};
}

}  // namespace

void run_inside(const std::string& transport, int size,
                const std::function<Report(Communicator&)>& body) {
  std::vector<Report> reports(static_cast<std::size_t>(size));
  const auto note = [&](Communicator& world) {
    reports[static_cast<std::size_t>(world.rank())] = body(world);
  };
  if (transport == "sim") {
    const sim::ClusterOptions cluster{
        .size = size, .seed = static_cast<std::uint64_t>(size), .scribble = true};
    for (const auto& error : sim::run_ranks(cluster, note)) EXPECT_FALSE(error) << error->what();
  } else {
    test::expect_no_error(
        test::in_world(setting_of(transport, size), note, test::kAmple, std::size_t{1} << 28));
  }
  for (std::size_t rank = reports.size(); rank-- > 0;)  // what is recorded last stays: rank 0's
    expect_right(reports[rank], transport, size);
}

}  // namespace tutti::matrix
