#include "experiment.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace tutti::harness {
namespace {

constexpr std::byte kGuardByte{0xc7};

/// The largest alignment that an element of that size can need.
std::size_t alignment_of(std::size_t element_bytes) {
  std::size_t alignment = 1;
  while (alignment < 8 && element_bytes % (2 * alignment) == 0) alignment *= 2;
  return alignment;
}

/// A pointer that no empty buffer needs.
std::byte* data_of(GuardedBuffer& buffer) {
  return buffer.size() == 0 ? nullptr : buffer.data();
}

}  // namespace

std::string Case::describe() const {
  const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  return std::string{name_of(collective)} + " algorithm '" + algorithm + "' on " +
         std::to_string(size) + " ranks, " + std::to_string(total) + " elements in " +
         std::to_string(counts.size()) + " blocks, " + model.name + ", root " +
         std::to_string(root) + (in_place ? ", in place" : "") + ", segment " +
         (segment == Options::kWhole ? std::string{"whole"} : std::to_string(segment)) + ", salt " +
         std::to_string(salt);
}

std::vector<std::size_t> cut(std::size_t total, std::size_t blocks) {
  std::vector<std::size_t> sizes(blocks, 0);
  // Dealt like cards, a whole lap at a time.
  for (std::size_t& size : sizes) size = total / blocks;
  for (std::size_t i = 0; i < total % blocks; ++i) ++sizes[i];
  return sizes;
}

std::size_t blocks_of(Collective collective, int size) {
  const auto n = static_cast<std::size_t>(size);
  switch (collective) {
    case Collective::scatter:
    case Collective::gather:
    case Collective::all_gather:
    case Collective::reduce_scatter: return n;
    case Collective::all_to_all: return n * n;
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::scan:
    case Collective::exscan:
    case Collective::barrier: break;
  }
  return 1;
}

const Model& model_at(Collective collective, std::size_t index) {
  const std::vector<Model>& models = all_models();
  const Model& model = models[index % models.size()];
  const bool fits = !is_prefix(collective) || model.op.kind() != OperatorKind::average;
  return fits ? model : models[(index + 1) % models.size()];  // the sum of another datatype
}

GuardedBuffer::GuardedBuffer(std::size_t bytes, std::size_t shift)
    : bytes_{bytes}, shift_{shift}, storage_(bytes + shift + 2 * kGuard, kGuardByte) {}

bool GuardedBuffer::intact() const noexcept {
  const auto is_guard = [](std::byte byte) { return byte == kGuardByte; };
  if (bytes_ == 0) return true;
  const auto begin = storage_.begin();
  const auto first = begin + static_cast<std::ptrdiff_t>(kGuard + shift_);
  return std::all_of(begin, first, is_guard) &&
         std::all_of(first + static_cast<std::ptrdiff_t>(bytes_), storage_.end(), is_guard);
}

Experiment::Experiment(Case what) : case_{std::move(what)} {
  equal_ = std::adjacent_find(case_.counts.begin(), case_.counts.end(), std::not_equal_to{}) ==
           case_.counts.end();
  sides_.resize(static_cast<std::size_t>(case_.size));
  for (Rank rank = 0; rank < case_.size; ++rank) inputs_.push_back(input_of(rank));
  for (Rank rank = 0; rank < case_.size; ++rank) {
    side(rank).in_count = input_count(rank);
    side(rank).out_count = output_count(rank);
    side(rank).wanted = wanted_of(rank);
    count_blocks(rank);
    place(rank);
  }
}

std::size_t Experiment::elements(std::size_t first_block, std::size_t last_block) const {
  std::size_t sum = 0;
  for (std::size_t block = first_block; block < last_block; ++block) sum += case_.counts[block];
  return sum;
}

std::size_t Experiment::input_count(Rank rank) const {
  const auto n = static_cast<std::size_t>(case_.size);
  const auto r = static_cast<std::size_t>(rank);
  switch (case_.collective) {
    case Collective::gather:
    case Collective::all_gather: return case_.counts[r];
    case Collective::broadcast:
    case Collective::scatter: return rank == case_.root ? elements(0, case_.counts.size()) : 0;
    case Collective::all_to_all: return elements(r * n, r * n + n);
    case Collective::barrier: return 0;
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::scan:
    case Collective::exscan: break;
  }
  return elements(0, case_.counts.size());
}

std::size_t Experiment::output_count(Rank rank) const {
  const auto n = static_cast<std::size_t>(case_.size);
  const auto r = static_cast<std::size_t>(rank);
  std::size_t sum = 0;
  switch (case_.collective) {
    case Collective::scatter:
    case Collective::reduce_scatter: return case_.counts[r];
    case Collective::gather: return rank == case_.root ? elements(0, case_.counts.size()) : 0;
    case Collective::reduce: return rank == case_.root ? case_.counts[0] : 0;
    case Collective::exscan: return rank == 0 ? 0 : case_.counts[0];
    case Collective::barrier: return 0;
    case Collective::all_to_all:
      for (std::size_t source = 0; source < n; ++source) sum += case_.counts[source * n + r];
      return sum;
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::all_gather:
    case Collective::scan: break;
  }
  return elements(0, case_.counts.size());
}

std::vector<std::byte> Experiment::input_of(Rank rank) const {
  const std::size_t count = input_count(rank);
  std::vector<std::byte> bytes(count * case_.model.element_bytes);
  if (count > 0) case_.model.fill(rank, case_.salt * 100'003, count, bytes.data());
  return bytes;
}

void Experiment::reduce_into(std::vector<std::byte>& wanted, std::size_t first,
                             std::size_t ranks) const {
  const std::size_t width = case_.model.element_bytes;
  if (wanted.empty()) return;
  std::vector<const void*> operands{};
  for (std::size_t rank = 0; rank < ranks; ++rank)
    operands.push_back(inputs_[rank].data() + first * width);
  case_.model.reduce(operands, wanted.size() / width, wanted.data());
}

std::vector<std::byte> Experiment::wanted_of(Rank rank) const {
  const std::size_t width = case_.model.element_bytes;
  const auto n = static_cast<std::size_t>(case_.size);
  const auto r = static_cast<std::size_t>(rank);
  const auto& root = inputs_[static_cast<std::size_t>(case_.root)];
  std::vector<std::byte> wanted(output_count(rank) * width);
  auto append = [&, at = std::size_t{0}](const std::vector<std::byte>& from, std::size_t first,
                                         std::size_t count) mutable {
    if (count > 0) std::memcpy(wanted.data() + at, from.data() + first * width, count * width);
    at += count * width;
  };
  switch (case_.collective) {
    case Collective::all_reduce:
    case Collective::reduce: reduce_into(wanted, 0, n); break;
    case Collective::reduce_scatter: reduce_into(wanted, elements(0, r), n); break;
    case Collective::scan: reduce_into(wanted, 0, r + 1); break;
    case Collective::exscan: reduce_into(wanted, 0, r); break;
    case Collective::broadcast: wanted = root; break;
    case Collective::scatter: append(root, elements(0, r), case_.counts[r]); break;
    case Collective::gather:
    case Collective::all_gather:
      for (std::size_t source = 0; source < n && !wanted.empty(); ++source)
        append(inputs_[source], 0, case_.counts[source]);
      break;
    case Collective::all_to_all:
      for (std::size_t source = 0; source < n; ++source)
        append(inputs_[source], elements(source * n, source * n + r), case_.counts[source * n + r]);
      break;
    case Collective::barrier: break;
  }
  return wanted;
}

void Experiment::count_blocks(Rank rank) {
  const auto n = static_cast<std::size_t>(case_.size);
  const auto r = static_cast<std::size_t>(rank);
  Side& own = side(rank);
  if (case_.collective == Collective::all_to_all) {
    for (std::size_t other = 0; other < n; ++other) {
      own.in_counts.push_back(case_.counts[r * n + other]);
      own.out_counts.push_back(case_.counts[other * n + r]);
    }
  } else if (rank == case_.root) {
    own.in_counts = case_.counts;
    own.out_counts = case_.counts;
  }
}

/// As MPI: also in all_to_all, if a rank sends as much as it receives.
bool Experiment::is_in_place(Rank rank) const {
  const auto& own = sides_[static_cast<std::size_t>(rank)];
  if (case_.collective == Collective::broadcast) return true;
  if (!case_.in_place) return false;
  if (case_.collective == Collective::exscan) return rank > 0;
  if (case_.collective == Collective::all_to_all) return own.in_count == own.out_count;
  return rank == case_.root || !is_rooted(case_.collective);
}

void Experiment::place(Rank rank) {
  Side& own = side(rank);
  const std::size_t width = case_.model.element_bytes;
  const std::size_t shift = (case_.salt + static_cast<std::size_t>(rank)) % 3 * alignment_of(width);
  const auto r = static_cast<std::size_t>(rank);
  const bool gathers =
      case_.collective == Collective::gather || case_.collective == Collective::all_gather;
  const bool inplace = is_in_place(rank);
  const bool whole =
      blocks_of(case_.collective, 2) == 1 || case_.collective == Collective::all_to_all;
  const std::size_t offset = whole ? 0 : elements(0, r) * width;
  own.out = GuardedBuffer{inplace && !gathers && !whole ? 0 : own.out_count * width, shift};
  own.in = GuardedBuffer{inplace && (gathers || whole) ? 0 : own.in_count * width, shift};
  own.output = data_of(own.out);
  own.input = data_of(own.in);
  if (inplace && gathers && own.output != nullptr) own.input = own.output + offset;
  if (inplace && whole) own.input = own.output;
  if (inplace && !gathers && !whole && own.input != nullptr) own.output = own.input + offset;
  restore(rank);
}

void Experiment::restore(Rank rank) {
  Side& own = side(rank);
  const auto& input = inputs_[static_cast<std::size_t>(rank)];
  std::fill_n(own.out.data(), own.out.size(), kGuardByte);
  if (!input.empty()) std::memcpy(own.input, input.data(), input.size());
  own.in_before.assign(own.in.data(), own.in.data() + own.in.size());
}

Call Experiment::call(Rank rank) {
  const Side& own = side(rank);
  if (case_.collective == Collective::barrier) return tutti::call::barrier();
  const bool broadcasts = case_.collective == Collective::broadcast;
  Call call{.collective = case_.collective,
            .in = own.input,
            .out = own.output,
            .in_count = broadcasts ? own.out_count : own.in_count,
            .out_count = own.out_count,
            .type = case_.model.type,
            .element_bytes = case_.model.element_bytes,
            .root = case_.root,
            .op = is_reduction(case_.collective) ? &case_.model.op : nullptr};
  if (case_.counts_are != CountsAre::own) return call;
  call.own_counts = true;
  call.in_counts = own.in_counts;
  call.out_counts = own.out_counts;
  return call;
}

Options Experiment::options() const {
  Options options{.algorithm = case_.algorithm, .segment = case_.segment};
  const bool told = case_.counts_are == CountsAre::told;
  if (told || (!equal_ && case_.counts_are != CountsAre::own)) options.counts = case_.counts;
  return options;
}

std::span<const std::byte> Experiment::result(Rank rank) {
  return {side(rank).output, side(rank).wanted.size()};
}

std::optional<std::string> Experiment::damage(Rank rank) {
  Side& own = side(rank);
  const std::string who = "rank " + std::to_string(rank) + ": ";
  if (!own.in.intact()) return who + "bytes beside the input were written";
  if (!own.out.intact()) return who + "bytes beside the output were written";
  // Within the input, only an output that was put there may differ.
  const std::byte* const begin = own.in.data();
  for (std::size_t i = 0; i < own.in_before.size(); ++i) {
    const std::byte* const at = begin + i;
    if (own.output != nullptr && at >= own.output && at < own.output + own.wanted.size()) continue;
    if (*at != own.in_before[i])
      return who + "byte " + std::to_string(i) + " of the input was written";
  }
  return std::nullopt;
}

std::optional<std::string> Experiment::problem(Rank rank) {
  Side& own = side(rank);
  const std::size_t count = own.out_count;
  if (count > 0) {
    const std::size_t different = case_.model.differ(own.output, own.wanted.data(), count);
    if (different < count)
      return "rank " + std::to_string(rank) + ": element " + std::to_string(different) + " of " +
             std::to_string(count) + " is wrong";
  }
  return damage(rank);
}

}  // namespace tutti::harness
