#include "perf/measured_world.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <tutti/init.hpp>
#include <tutti/spi/communicator.hpp>

#include "perf/failure.hpp"

namespace tutti::perf {
namespace {

class OwnWorld final : public MeasuredWorld {
 public:
  explicit OwnWorld(Communicator communicator) : communicator_{std::move(communicator)} {}

  Communicator& communicator() override { return communicator_; }
  bool has_library() const override { return false; }
  bool has_native(const Call&) override { return false; }
  void native(const Call&) override { expects(false, "there is no library to call"); }
  std::string library() const override { return {}; }

 private:
  Communicator communicator_;
};

}  // namespace

void print_warning(std::string_view text) {
  fmt::print(stderr, "tutti: {}\n", text);
}

std::unique_ptr<MeasuredWorld> join_own_world(const std::string& transport,
                                              const CommunicatorOptions& options) {
  return std::make_unique<OwnWorld>(init({.transport = transport,
                                          .timeout = options.timeout,
                                          .warn = print_warning,
                                          .communicator = options}));
}

std::unique_ptr<MeasuredWorld> MeasuredWorld::part(std::span<const Rank> ranks) {
  const Rank self = communicator().rank();
  const bool is_in = std::ranges::find(ranks, self) != ranks.end();
  Communicator some = communicator().split(is_in ? 0 : 1, self);
  return is_in ? std::make_unique<OwnWorld>(std::move(some)) : nullptr;
}

std::string measured_transport(Communicator& communicator) {
  const Capabilities& can = transport_of(communicator).capabilities();
  if (can.transports.empty()) return can.name;
  throw Failure{ExitCode::usage, fmt::format("messages use {} here: measure one transport at a "
                                             "time, --transport auto, then shm+mpi",
                                             fmt::join(can.transports, " or "))};
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void max_over_ranks(Communicator& communicator, std::span<double> values) {
  if (!values.empty()) communicator.all_reduce(values, max);
}

void sum_over_ranks(Communicator& communicator, std::span<double> values) {
  if (!values.empty()) communicator.all_reduce(values, sum);
}

void from_rank_zero(Communicator& communicator, std::span<std::int64_t> values) {
  if (!values.empty()) communicator.broadcast(values, 0);
}

bool is_equal_everywhere(Communicator& communicator, std::uint64_t value) {
  // The minimum of x is the complement of the maximum of ~x, so one reduction computes both.
  std::array<std::uint64_t, 2> bounds{value, ~value};
  communicator.all_reduce(std::span{bounds}, min);
  return bounds[0] == ~bounds[1];
}

std::vector<std::string> gather_texts(Communicator& communicator, const std::string& text) {
  constexpr std::size_t kBytes = 64;
  std::array<char, kBytes> own{};
  std::memcpy(own.data(), text.data(), std::min(text.size(), kBytes - 1));
  std::vector<char> all(kBytes * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::span<const char>{own}, std::span{all});
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < all.size(); at += kBytes) texts.emplace_back(all.data() + at);
  return texts;
}

}  // namespace tutti::perf
