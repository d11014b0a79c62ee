#include "perf/sweep/mockup.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace tutti::perf {

namespace {

using enum Collective;

bool always(const Workload& workload) {
  return workload.count > 0 || workload.collective == barrier;
}
bool has_equal_shares(const Workload& workload) {
  return workload.count > 0 && workload.count % static_cast<std::size_t>(workload.size) == 0;
}
bool has_one_vector(Collective collective) {
  return traits_of(collective).input == Extent::vector;
}
bool has_halves(const Workload& workload) {
  return has_one_vector(workload.collective) && workload.count >= 2;
}
bool can_be_longer(const Workload& workload) {
  return workload.collective != barrier && workload.count > 0;
}
bool has_ranks_to_spare(const Workload& workload) {
  return workload.size > 2 && workload.root < workload.size - 1;
}

bool is_root(const MockupSite& site) {
  return site.rank == site.workload.root;
}
std::size_t share(const MockupSite& site) {
  return site.workload.count / static_cast<std::size_t>(site.workload.size);
}

// Broadcasts the root's `vector`.
void add_broadcast(MockupSite& site, void* vector, std::size_t count) {
  site.run(broadcast, vector, count, vector, count);
}

void reduce_and_broadcast(MockupSite& site) {
  const std::size_t count = site.workload.count;
  const bool root = is_root(site);
  site.run(reduce, site.call.in, count, root ? site.call.out : nullptr, root ? count : 0);
  add_broadcast(site, site.call.out, count);
}

void reduce_scatter_and_all_gather(MockupSite& site) {
  std::byte* const own = site.block(site.call.out, site.rank);
  site.run(reduce_scatter, site.call.in, site.workload.count, own, share(site));
  site.run(all_gather, own, share(site), site.call.out, site.workload.count);
}

void scatter_and_all_gather(MockupSite& site) {
  std::byte* const own = site.block(site.call.out, site.rank);
  site.run(scatter, is_root(site) ? site.call.in : nullptr, is_root(site) ? site.workload.count : 0,
           own, share(site));
  site.run(all_gather, own, share(site), site.call.out, site.workload.count);
}

void reduce_scatter_and_gather(MockupSite& site) {
  std::byte* const own = site.scratch(share(site));
  const bool root = is_root(site);
  site.run(reduce_scatter, site.call.in, site.workload.count, own, share(site));
  site.run(gather, own, share(site), root ? site.call.out : nullptr,
           root ? site.workload.count : 0);
}

void all_reduce_for_one(MockupSite& site) {
  const std::size_t count = site.workload.count;
  site.run(all_reduce, site.call.in, count, is_root(site) ? site.call.out : site.scratch(count),
           count);
}

void gather_and_broadcast(MockupSite& site) {
  const bool root = is_root(site);
  site.run(gather, site.call.in, site.workload.count, root ? site.call.out : nullptr,
           root ? site.total() : 0);
  add_broadcast(site, site.call.out, site.total());
}

void reduce_and_scatter(MockupSite& site) {
  const std::size_t all = is_root(site) ? site.total() : 0;
  std::byte* const sums = is_root(site) ? site.scratch(all) : nullptr;
  site.run(reduce, site.call.in, site.total(), sums, all);
  site.run(scatter, sums, all, site.call.out, site.workload.count);
}

void all_reduce_for_a_block(MockupSite& site) {
  std::byte* const sums = site.scratch(site.total());
  site.run(all_reduce, site.call.in, site.total(), sums, site.total());
  site.copy(site.call.out, site.block(sums, site.rank), site.workload.count);
}

void all_gather_for_one(MockupSite& site) {
  site.run(all_gather, site.call.in, site.workload.count,
           is_root(site) ? site.call.out : site.scratch(site.total()), site.total());
}

void broadcast_for_a_block(MockupSite& site) {
  void* const whole = is_root(site) ? const_cast<void*>(site.call.in) : site.scratch(site.total());
  add_broadcast(site, whole, site.total());
  site.copy(site.call.out, site.block(whole, site.rank), site.workload.count);
}

void all_reduce_of_one(MockupSite& site) {
  static const Operator kSum{OperatorKind::sum};
  site.call.type = Datatype::i32;
  site.call.element_bytes = sizeof(std::int32_t);
  site.call.op = &kSum;
  site.run(all_reduce, site.scratch(1), 1, site.scratch(1), 1);
}

void two_halves(MockupSite& site) {
  const std::size_t first = (site.workload.count + 1) / 2;
  const auto part = [&](std::size_t from, std::size_t count) {
    Call call = site.call;
    const std::size_t skipped = from * call.element_bytes;
    if (call.in != nullptr) call.in = static_cast<const std::byte*>(call.in) + skipped;
    if (call.out != nullptr) call.out = static_cast<std::byte*>(call.out) + skipped;
    call.in_count = call.in_count > 0 ? count : 0;
    call.out_count = call.out_count > 0 ? count : 0;
    site.steps.push_back({.call = call});
  };
  part(0, first);
  part(first, site.workload.count - first);
}

// The same call with blocks of twice the length. Only their first halves are used.
void twice_as_long(MockupSite& site) {
  const std::size_t count = site.workload.count;
  const std::size_t bytes = count * site.call.element_bytes;
  Call call = site.call;
  call.in_count *= 2;
  call.out_count *= 2;
  if (call.in != nullptr) call.in = site.scratch(call.in_count);
  if (call.out != nullptr) call.out = site.scratch(call.out_count);
  if (call.collective == broadcast) call.out = const_cast<void*>(call.in);
  const auto each = [&](std::size_t elements, auto&& copy) {
    for (std::size_t block = 0; block < elements / count; ++block) copy(block * bytes);
  };
  each(site.call.in_count, [&](std::size_t at) {
    site.copy(static_cast<std::byte*>(const_cast<void*>(call.in)) + 2 * at,
              static_cast<const std::byte*>(site.call.in) + at, count);
  });
  site.steps.push_back({.call = call});
  if (call.collective == broadcast && is_root(site)) return;  // the root already has the result
  each(site.call.out_count, [&](std::size_t at) {
    site.copy(static_cast<std::byte*>(site.call.out) + at,
              static_cast<const std::byte*>(call.out) + 2 * at, count);
  });
}

// Blocks keep their length, so that no rank has more to do.
void one_rank_less(MockupSite& site) {
  if (site.rank == site.workload.size - 1) return;
  Workload fewer = site.workload;
  --fewer.size;
  const BufferContents contents = contents_of(fewer, site.rank);
  Call call = site.call;
  call.in_count = contents.in_count;
  call.out_count = contents.out_count;
  site.steps.push_back({.call = call});
}

constexpr std::array kRules{
    MockupRule{all_reduce, "reduce + broadcast", "reduce_broadcast",
               "call reduce and broadcast instead", always, reduce_and_broadcast},
    MockupRule{all_reduce, "reduce_scatter + all_gather", "rabenseifner",
               "call reduce_scatter and all_gather instead", has_equal_shares,
               reduce_scatter_and_all_gather},
    MockupRule{broadcast, "scatter + all_gather", "scatter_all_gather",
               "call scatter and all_gather instead", has_equal_shares, scatter_and_all_gather},
    MockupRule{reduce, "reduce_scatter + gather", "reduce_scatter_gather",
               "call reduce_scatter and gather instead", has_equal_shares,
               reduce_scatter_and_gather},
    MockupRule{reduce, "all_reduce", "", "call all_reduce instead", always, all_reduce_for_one},
    MockupRule{all_gather, "gather + broadcast", "", "call gather and broadcast instead", always,
               gather_and_broadcast},
    MockupRule{reduce_scatter, "reduce + scatter", "", "call reduce and scatter instead", always,
               reduce_and_scatter},
    MockupRule{reduce_scatter, "all_reduce", "", "call all_reduce and keep the own block", always,
               all_reduce_for_a_block},
    MockupRule{gather, "all_gather", "", "call all_gather instead", always, all_gather_for_one},
    MockupRule{scatter, "broadcast", "", "call broadcast and keep the own block", always,
               broadcast_for_a_block},
    MockupRule{barrier, "all_reduce of one element", "", "call all_reduce of one element instead",
               always, all_reduce_of_one},
    MockupRule{{},
               "two calls of half",
               "",
               "call it twice, with half the elements",
               has_halves,
               two_halves},
    MockupRule{
        {}, "padded to twice", "", "pad it to twice the elements", can_be_longer, twice_as_long},
    MockupRule{{},
               "one rank more",
               "",
               "use one rank less: its algorithm is slow for this number",
               has_ranks_to_spare,
               one_rank_less,
               true}};

}  // namespace

std::byte* MockupSite::scratch(std::size_t elements) {
  const std::size_t bytes = std::max<std::size_t>(elements * call.element_bytes, 1);
  memory.push_back(allocate(bytes));
  std::memset(memory.back().get(), 0, bytes);
  return memory.back().get();
}

std::size_t MockupSite::total() const noexcept {
  return workload.count * static_cast<std::size_t>(workload.size);
}

std::byte* MockupSite::block(void* vector, Rank block) const noexcept {
  const bool shares = has_one_vector(workload.collective);
  const std::size_t count =
      shares ? workload.count / static_cast<std::size_t>(workload.size) : workload.count;
  return static_cast<std::byte*>(vector) +
         static_cast<std::size_t>(block) * count * call.element_bytes;
}

void MockupSite::run(Collective collective, const void* in, std::size_t in_count, void* out,
                     std::size_t out_count) {
  Call added = call;
  added.collective = collective;
  added.in = in;
  added.in_count = in_count;
  added.out = out;
  added.out_count = out_count;
  steps.push_back({.call = added});
}

void MockupSite::copy(void* to, const void* from, std::size_t elements) {
  steps.push_back({.to = static_cast<std::byte*>(to),
                   .from = static_cast<const std::byte*>(from),
                   .bytes = elements * call.element_bytes});
}

Mockup::Mockup(const MockupRule& rule, const Workload& workload, const Call& call,
               const Allocate& allocate, const MockupWorlds& worlds)
    : rule_{rule}, worlds_{worlds}, site_{.workload = workload,
                                          .rank = worlds.world.communicator().rank(),
                                          .call = call,
                                          .allocate = allocate} {
  if (rule.serves(workload)) rule.decide(site_);
}

MeasuredWorld& Mockup::world() const {
  return rule_.leaves_last_out ? *worlds_.fewer : worlds_.world;
}

bool Mockup::can_run() const {
  if (!rule_.serves(site_.workload) || (rule_.leaves_last_out && worlds_.fewer == nullptr))
    return false;
  return !worlds_.is_native || std::ranges::all_of(site_.steps, [this](const MockupStep& step) {
    return !step.call || world().has_native(*step.call);
  });
}

void Mockup::run() {
  for (const MockupStep& step : site_.steps)
    if (!step.call) std::memcpy(step.to, step.from, step.bytes);
    else if (worlds_.is_native) world().native(*step.call);
    else world().communicator().run(*step.call, {.determinism = worlds_.determinism});
}

std::span<const MockupRule> mockup_rules() noexcept {
  return kRules;
}

}  // namespace tutti::perf
