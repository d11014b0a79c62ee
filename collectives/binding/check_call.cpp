#include "check_call.hpp"

#include <cstdint>
#include <numeric>
#include <string>

#include <tutti/byte_count.hpp>
#include <tutti/call_name.hpp>
#include <tutti/error.hpp>

#include "call_fields.hpp"

namespace tutti::v0::detail {
namespace {

[[noreturn]] void reject(std::string_view name, const std::string& message) {
  throw Error{ErrorCode::invalid_argument, std::string{name} + ": " + message};
}
[[noreturn]] void reject(Collective collective, const std::string& message) {
  reject(name_of(collective), message);
}

std::string elements(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " element" : " elements");
}

void check_operator(const Call& call) {
  if (!is_reduction(call.collective)) return;
  if (call.op == nullptr) reject(call.collective, "an operator is needed");
  check_enumerator(name_of(call.collective), "operator", static_cast<int>(call.op->kind()),
                   kOperatorKinds);
  if (call.op->kind() == OperatorKind::user &&
      (call.op->function() == nullptr || !*call.op->function()))
    reject(call.collective, "the user's operator has no function to apply");
  if (is_prefix(call.collective) && call.op->kind() == OperatorKind::average)
    reject(call.collective, "operator average is for reductions of all ranks; use sum");
  const OperatorKind kind = call.op->kind();
  if (call.is_bool && call.type == Datatype::u8 && !traits_of(kind).of_bool)
    reject(call.collective, "operator " + std::string{name_of(kind)} +
                                " is not defined for bool; use logical_and, logical_or or "
                                "logical_xor, or count in another type");
  if (is_defined(kind, call.type)) return;
  reject(call.collective, "operator " + std::string{name_of(kind)} +
                              " is not defined for datatype " + std::string{name_of(call.type)});
}

/// Rejects vectors whose offsets in bytes do not fit in std::size_t.
void check_size(const Problem& problem) {
  const std::size_t most = most_elements(problem.element_bytes);
  bool fits = problem.count <= most / problem.contract.blocks();
  for (const Counts counts : {problem.counts, problem.own.in, problem.own.out}) {
    std::size_t left = most;
    for (const std::size_t count : counts) {
      fits = fits && count <= left;
      left -= fits ? count : 0;
    }
  }
  if (!fits)
    reject(problem.contract.collective,
           "the vector of all blocks is too large to be addressed in memory");
}

/// @return the elements of a block, derived from the caller's buffers.
std::size_t block_count(const Call& call, int size) {
  if (call.collective == Collective::barrier) return 1;
  if (is_scattering(call.collective)) return call.out_count;
  if (!is_between_pairs(call.collective)) return call.in_count;
  if (call.in_count % static_cast<std::size_t>(size) != 0)
    reject(call.collective, "the input has " + elements(call.in_count) +
                                ", not a multiple of the " + std::to_string(size) + " ranks");
  return call.in_count / static_cast<std::size_t>(size);
}

bool uses_input(const Contract& contract, Rank self) {
  return is_among(traits_of(contract.collective).readers, self, contract.root);
}

bool uses_output(const Contract& contract, Rank self) {
  return is_among(traits_of(contract.collective).writers, self, contract.root);
}

void check_count(Collective collective, const char* which, std::size_t is, std::size_t should) {
  if (is != should)
    reject(collective, std::string{"the "} + which + " has " + elements(is) + ", expected " +
                           std::to_string(should));
}

/// @return for a call in place, the elements from the start of the longer buffer to that of the
/// other one, which is the rank's own block of it; zero if both start together.
std::size_t in_place_offset(const Layout& layout) {
  const auto own = static_cast<std::uint32_t>(layout.self());
  const Collective collective = layout.contract().collective;
  if (is_gathering(collective)) return layout.out_offset(own);
  return is_scattering(collective) ? layout.in_offset(own) : 0;
}

void check_overlap(std::string_view name, const Layout& layout, std::size_t element_bytes,
                   const void* in, const void* out) {
  const Collective collective = layout.contract().collective;
  const auto in_begin = reinterpret_cast<std::uintptr_t>(in);
  const auto out_begin = reinterpret_cast<std::uintptr_t>(out);
  const std::size_t in_bytes = layout.in_total() * element_bytes;
  const std::size_t out_bytes = layout.out_total() * element_bytes;
  if (in_begin + in_bytes <= out_begin || out_begin + out_bytes <= in_begin) return;
  const std::size_t offset = in_place_offset(layout) * element_bytes;
  const bool gathers = is_gathering(collective);
  bool in_place = gathers ? in_begin == out_begin + offset : out_begin == in_begin + offset;
  if (is_between_pairs(collective)) in_place = in_place && in_bytes == out_bytes;
  if (in_place) return;
  reject(name,
         std::string{"input and output overlap; give two separate buffers, or the same "
                     "place where the call works in place"} +
             (gathers                     ? ": in place the input is the own block of the output"
              : is_scattering(collective) ? ": in place the output is the own block of the input"
                                          : ""));
}

Determinism level_of(const Call& call, const Options& options, int size) {
  const Determinism level = options.determinism.value_or(Determinism::rank_identical);
  check_enumerator(name_of(call.collective), "determinism", static_cast<int>(level), kDeterminisms);
  const bool is_ordered =
      is_reduction(call.collective) && size > 1 && depends_on_order(call.op->kind(), call.type);
  return is_ordered ? level : Determinism::fast;
}

/// @return the sizes of blocks that this rank knows, for a call in which each knows only its own.
OwnCounts own_counts(const Call& call, Rank self, int size) {
  const auto need = [&](const char* which, Counts counts) {
    if (counts.size() != static_cast<std::size_t>(size))
      reject(call.collective, std::to_string(counts.size()) + " counts are given for the " + which +
                                  ", expected one per rank, " + std::to_string(size));
  };
  if (!may_have_own_counts(call.collective))
    reject(call.collective, "counts must be known to all ranks; give Options::counts");
  OwnCounts own = counts_read(call, self);
  if (is_gathering(call.collective)) own.in = {&call.in_count, 1};
  else if (reads_input(call, self)) need("input", own.in);
  if (is_scattering(call.collective)) own.out = {&call.out_count, 1};
  else if (writes_output(call, self)) need("output", own.out);
  return own;
}

/// Rejects a call if the block that a rank keeps differs in length between input and output.
void check_kept(const Problem& problem, Rank self) {
  const auto kept = [&](Counts counts) {
    return counts[counts.size() == 1 ? 0 : static_cast<std::size_t>(self)];
  };
  if (problem.own.in.empty() || problem.own.out.empty()) return;
  if (const std::size_t in = kept(problem.own.in), out = kept(problem.own.out); in != out)
    reject(problem.contract.collective, "the block that the rank keeps has " + elements(in) +
                                            " in the input and " + std::to_string(out) +
                                            " in the output");
}

}  // namespace

Layout layout_of(const Problem& problem, Rank self) {
  if (problem.own_counts) return Layout{problem.contract, self, problem.own};
  if (problem.counts.empty()) return Layout{problem.contract, self, problem.count};
  return Layout{problem.contract, self, {problem.counts.begin(), problem.counts.end()}};
}

void check_enumerator(std::string_view name, std::string_view what, int value, int count) {
  if (value >= 0 && value < count) return;
  reject(name, std::string{what} + " " + std::to_string(value) +
                   " does not exist; expected 0 .. " + std::to_string(count - 1));
}

void check_timeout(std::string_view name, Duration timeout) {
  if (timeout >= Duration::zero()) return;
  reject(name, "the timeout is " + std::to_string(timeout.count()) +
                   " ns; expected more than zero, zero for that of the communicator, or "
                   "Duration::max() for no limit");
}

void check_elements(std::string_view name, const Call& call) {
  check_enumerator(name, "datatype", static_cast<int>(call.type), kDatatypes);
  const std::size_t expected = size_of(call.type);
  if (call.type == Datatype::opaque ? call.element_bytes > 0 : call.element_bytes == expected)
    return;
  reject(name, "an element of datatype " + std::string{name_of(call.type)} + " cannot have " +
                   std::to_string(call.element_bytes) + " bytes" +
                   (expected > 0 ? ", expected " + std::to_string(expected) : ""));
}

void check_buffers(std::string_view name, const Layout& layout, std::size_t element_bytes,
                   const void* in, const void* out) {
  const Contract& contract = layout.contract();
  const bool reads = uses_input(contract, layout.self()) && layout.in_total() > 0;
  const bool writes = uses_output(contract, layout.self()) && layout.out_total() > 0;
  if (reads && in == nullptr) reject(name, "the input is a null pointer");
  if (writes && out == nullptr) reject(name, "the output is a null pointer");
  if (reads && writes) check_overlap(name, layout, element_bytes, in, out);
}

TouchedBytes touched_bytes(const Layout& layout, std::size_t element_bytes, const void* in,
                           const void* out) {
  const Contract& contract = layout.contract();
  const auto of = [&](const void* data, std::size_t count) -> std::span<const std::byte> {
    return {static_cast<const std::byte*>(data), count * element_bytes};
  };
  TouchedBytes bytes;
  if (contract.collective == Collective::barrier) return bytes;
  if (uses_input(contract, layout.self())) bytes.read = of(in, layout.in_total());
  const bool only_reads =  // the root of a broadcast in place
      contract.collective == Collective::broadcast && layout.self() == contract.root && in == out;
  if (uses_output(contract, layout.self()) && !only_reads)
    bytes.written = of(out, layout.out_total());
  return bytes;
}

void check_started(bool is_enlisted) {
  if (is_enlisted)
    throw Error{ErrorCode::invalid_argument,
                "the call is in a batch that has not started yet; wait for it after the batch"};
}

Problem check(const Call& call, const Options& options, Rank self, int size) {
  check_enumerator("the call", "collective", static_cast<int>(call.collective), kCollectives);
  if (is_rooted(call.collective) && (call.root < 0 || call.root >= size))
    reject(call.collective, "root " + std::to_string(call.root) + " is not a rank; expected 0 .. " +
                                std::to_string(size - 1));
  if (call.collective != Collective::barrier) check_elements(name_of(call.collective), call);
  check_operator(call);
  Problem problem{.contract = {call.collective, size, is_rooted(call.collective) ? call.root : 0},
                  .type = call.type,
                  .element_bytes = call.element_bytes,
                  .op = is_reduction(call.collective) ? call.op : nullptr,
                  .count = options.counts.empty() && !call.own_counts ? block_count(call, size) : 0,
                  .counts = options.counts,
                  .algorithm = options.algorithm,
                  .transport = options.transport,
                  .segment = options.segment,
                  .name = CallName::current(),
                  .visible = call.visible || options.visible,
                  .determinism = level_of(call, options, size),
                  .own_counts = call.own_counts};
  if (call.collective == Collective::barrier) {
    if (call.own_counts || !options.counts.empty())
      reject(call.collective, "a barrier has no elements; give no counts");
    problem.op = &bit_or;  // The token of a barrier is a bit of a byte; the call's type is unread.
    problem.type = Datatype::u8;
    problem.element_bytes = 1;
    return problem;
  }
  if (call.own_counts) {
    if (!options.counts.empty())
      reject(call.collective, "counts are given twice, by the call and by Options::counts");
    problem.own = own_counts(call, self, size);
    check_kept(problem, self);
  }
  if (!options.counts.empty()) {
    if (problem.contract.blocks() == 1 && size > 1)
      reject(call.collective, "counts per block are given, but its vector is one block");
    if (options.counts.size() != problem.contract.blocks())
      reject(call.collective, std::to_string(options.counts.size()) +
                                  " counts are given, expected " +
                                  std::to_string(problem.contract.blocks()));
  }
  check_size(problem);
  const Layout layout = layout_of(problem, self);
  if (uses_input(problem.contract, self))
    check_count(call.collective, "input", call.in_count, layout.in_total());
  if (uses_output(problem.contract, self))
    check_count(call.collective, "output", call.out_count, layout.out_total());
  check_buffers(name_of(call.collective), layout, call.element_bytes, call.in, call.out);
  return problem;
}

}  // namespace tutti::v0::detail
