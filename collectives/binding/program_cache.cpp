#include "program_cache.hpp"

#include <algorithm>
#include <utility>

namespace tutti::v0::detail {

ProgramCache::Shape::Shape(const ShapeKey& shape)
    : key{shape}, algorithm{shape.algorithm}, transport{shape.transport},
      counts{shape.counts.begin(), shape.counts.end()}, in_counts{shape.own.in.begin(),
                                                                  shape.own.in.end()},
      out_counts{shape.own.out.begin(), shape.own.out.end()}, hash{shape.hash()} {
  key.algorithm = algorithm;
  key.transport = transport;
  key.counts = counts;
  key.own = {in_counts, out_counts};
}

ProgramCache::Shape* ProgramCache::find(const Call& call, const Options& options) {
  if (!shapes_.empty() && shapes_.front().key.fits(call, options, self_)) return &shapes_.front();
  const auto [begin, end] = index_.equal_range(ShapeKey{call, options, self_}.hash());
  for (auto found = begin; found != end; ++found)
    if (found->second->key.fits(call, options, self_)) {
      shapes_.splice(shapes_.begin(), shapes_, found->second);
      return &shapes_.front();
    }
  return nullptr;
}

ProgramCache::Shape& ProgramCache::add(const Call& call, const Options& options,
                                       std::shared_ptr<const Binding> binding) {
  shapes_.emplace_front(ShapeKey{call, options, self_});
  Shape& shape = shapes_.front();
  shape.binding = std::move(binding);
  index_.emplace(shape.hash, shapes_.begin());
  recount(shape);
  evict();
  return shape;
}

ProgramCache::CachedExecution& ProgramCache::idle(Shape& shape) {
  if (shape.idle.empty()) {
    CachedExecution& made = shape.idle.emplace_front(outbox_, scratch_, shape, instances_);
    count(made.counted, made.execution.footprint());
  }
  return shape.idle.front();
}

void ProgramCache::recount(CachedExecution& held) noexcept {
  count(held.counted, held.execution.footprint());
  recount(*held.shape);
}

void ProgramCache::recount(Shape& shape) noexcept {
  count(shape.counted, sizeof(Shape) + sizeof(Binding) + shape.binding->programs->footprint());
}

Execution& ProgramCache::acquire(Shape& shape, std::list<CachedExecution>& to) noexcept {
  to.splice(to.begin(), shape.idle, shape.idle.begin());
  ++shape.users;
  count(to.front().counted, 0);
  return to.front().execution;
}

void ProgramCache::put_back(std::list<CachedExecution>& from,
                            std::list<CachedExecution>::iterator held) noexcept {
  Shape& shape = *held->shape;
  --shape.users;
  recount(*held);
  shape.idle.splice(shape.idle.begin(), from, held);
  evict();
}

void ProgramCache::evict_some() noexcept {
  for (auto shape = shapes_.end(); bytes_ > budget_ && shape != shapes_.begin();) {
    --shape;
    const bool is_last_used = shape == shapes_.begin();
    while (bytes_ > budget_ && shape->idle.size() > (is_last_used ? 1U : 0U)) {
      bytes_ -= shape->idle.back().counted;
      shape->idle.pop_back();
    }
    if (is_last_used || shape->users > 0 || bytes_ <= budget_) continue;
    const auto [begin, end] = index_.equal_range(shape->hash);
    index_.erase(std::find_if(begin, end, [&](const auto& i) { return i.second == shape; }));
    bytes_ -= shape->counted;
    calls_.forget(shape->binding->fingerprint);
    shape = shapes_.erase(shape);
  }
}

}  // namespace tutti::v0::detail
