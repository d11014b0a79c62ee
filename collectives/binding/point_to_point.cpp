#include "point_to_point.hpp"

#include <array>

#include <tutti/byte_count.hpp>
#include <tutti/error.hpp>
#include <tutti/spi/fingerprint.hpp>

#include "check_call.hpp"

namespace tutti::v0::detail {
namespace {

[[noreturn]] void reject(const Call& call, const std::string& message) {
  throw Error{ErrorCode::invalid_argument,
              std::string{name_of(call.point_to_point)} + ": " + message};
}

bool sends(const Call& call) noexcept {
  return call.point_to_point != PointToPoint::recv;
}
bool receives(const Call& call) noexcept {
  return call.point_to_point != PointToPoint::send;
}

/// A message is bound as the part of rank 0 in an all_to_all of two ranks, in which no rank keeps a
/// block: it sends block 1 and receives block 2. Steps name the real peers.
constexpr Contract kOfTwo{Collective::all_to_all, 2, 0};
constexpr std::uint32_t kSent = 1;
constexpr std::uint32_t kReceived = 2;

Layout layout_of(const Call& call) {
  const std::array<std::size_t, 2> in{0, sends(call) ? call.in_count : 0};
  const std::array<std::size_t, 2> out{0, receives(call) ? call.out_count : 0};
  return {kOfTwo, 0, OwnCounts{in, out}};
}

Schedule schedule_of(const Call& call) {
  Schedule schedule{kOfTwo.blocks()};
  if (receives(call)) schedule.add(Recv{call.from, {.first = kReceived}});
  if (sends(call)) schedule.add(Send{call.to, {.first = kSent}});
  return schedule.end_round();
}

void check_kind(const Call& call) {
  check_enumerator("the call", "message", static_cast<int>(call.point_to_point), kPointToPoints);
}

void check_peer(const Call& call, Rank peer, int size) {
  if (peer == any_rank && call.point_to_point == PointToPoint::recv)
    reject(call,
           "only a blocking call receives from any rank; probe_now returns the sender of a "
           "message that has arrived, so that a call can name that rank");
  if (peer < 0 || peer >= size)
    reject(call, "rank " + std::to_string(peer) + " is not in this communicator; expected 0 .. " +
                     std::to_string(size - 1));
}

}  // namespace

void check_point_to_point(const Call& call, const Options& options, int size) {
  check_kind(call);
  if (sends(call)) check_peer(call, call.to, size);
  if (receives(call)) check_peer(call, call.from, size);
  if (!options.algorithm.empty())
    reject(call,
           "a message has no algorithm; leave \"" + std::string{options.algorithm} + "\" out");
  if (!options.transport.empty())
    reject(call, "a message goes by the first transport; leave transport \"" +
                     std::string{options.transport} + "\" out");
  if (options.segment != 0 && options.segment != Options::kWhole)
    reject(call, "a message has no segments; leave Options::segment as it is");
  if (!options.counts.empty() || call.own_counts)
    reject(call, "a message is one block; give no counts");
  if (options.determinism)
    check_enumerator(name_of(call.point_to_point), "determinism",
                     static_cast<int>(*options.determinism), kDeterminisms);
  check_elements(name_of(call.point_to_point), call);
  const std::size_t most = most_elements(call.element_bytes);
  if ((sends(call) && call.in_count > most) || (receives(call) && call.out_count > most))
    reject(call, "the elements are too many to be addressed in memory");
  check_buffers(name_of(call.point_to_point), layout_of(call), call.element_bytes, call.in,
                call.out);
}

void check_tag(const Call& call, std::uint32_t tags) {
  if (call.tag >= 0 && static_cast<std::uint32_t>(call.tag) < tags) return;
  check_kind(call);
  reject(call, "tag " + std::to_string(call.tag) +
                   (tags == 0 ? " is not available: this transport has no tags to spare"
                              : " is not within 0 .. " + std::to_string(tags - 1)));
}

Binding bind_point_to_point(const Call& call) {
  const std::string_view name = name_of(call.point_to_point);
  // A message of no elements is sent and awaited too.
  const LoweringOptions lowering{.element_bytes = call.element_bytes, .keeps_empty = true};
  return {.programs = std::make_unique<Programs>(schedule_of(call), layout_of(call), lowering),
          .op = OperatorKind::sum,
          .type = call.type,
          .element_bytes = call.element_bytes,
          .algorithm = std::string{name},
          .fingerprint = fingerprint_of_two(call.type, call.element_bytes),
          .name = name,
          .is_collective = false};
}

std::string words_of(const Binding& binding, int tag) {
  std::string text{binding.name};
  for (const Step& step : binding.programs->schedule().steps()) {
    const bool is_send = step.kind() == Step::Kind::send;
    const std::size_t count = is_send ? binding.layout().in_total() : binding.layout().out_total();
    text += (is_send ? " to rank " : " from rank ") + std::to_string(step.peer()) + " of " +
            std::to_string(count * binding.element_bytes) + " bytes";
  }
  return text + " with tag " + std::to_string(tag);
}

}  // namespace tutti::v0::detail
