#include "last_accesses.hpp"

#include <algorithm>
#include <utility>

namespace tutti::v0::detail {

template <class Visit>
void LastAccesses::for_each_met(const Touched& touched, Visit visit) const {
  const Line& line = lines_[static_cast<std::size_t>(touched.area)];
  auto last = line.upper_bound(touched.begin);
  if (last != line.begin()) --last;
  for (; last != line.end() && last->first < touched.end; ++last)
    if (last->second.end > touched.begin) visit(last->second);
}

void LastAccesses::collect(const Accesses& accesses, std::vector<std::uint32_t>& before) const {
  const auto add_writer = [&](const Last& last) {
    if (last.writer != kNobody) before.push_back(last.writer);
  };
  for (const Touched& read : accesses.reads) for_each_met(read, add_writer);
  for (const Touched& write : accesses.writes)
    for_each_met(write, [&](const Last& last) {
      // A reader depends on the writer.
      if (last.readers.empty()) add_writer(last);
      before.insert(before.end(), last.readers.begin(), last.readers.end());
    });
}

void LastAccesses::note(const Accesses& accesses, std::uint32_t operation) {
  for (const Touched& read : accesses.reads) note_read(read, operation);
  for (const Touched& write : accesses.writes) note_write(write, operation);
}

void LastAccesses::forget() noexcept {
  for (Line& line : lines_) line.clear();
}

/// Splits the run that contains `at` in two.
void LastAccesses::split(Line& line, std::uint64_t at) {
  auto last = line.upper_bound(at);
  if (last == line.begin()) return;
  --last;
  if (last->first == at || last->second.end <= at) return;
  Last behind = last->second;
  last->second.end = at;
  line.emplace(at, std::move(behind));
}

void LastAccesses::note_read(const Touched& touched, std::uint32_t operation) {
  Line& line = lines_[static_cast<std::size_t>(touched.area)];
  split(line, touched.begin);
  split(line, touched.end);
  for (std::uint64_t at = touched.begin; at < touched.end;) {
    auto last = line.lower_bound(at);
    const std::uint64_t next =
        last == line.end() ? touched.end : std::min(last->first, touched.end);
    if (at < next) last = line.emplace(at, Last{.end = next}).first;
    std::vector<std::uint32_t>& readers = last->second.readers;
    if (readers.empty() || readers.back() != operation) readers.push_back(operation);
    at = last->second.end;
  }
}

void LastAccesses::note_write(const Touched& touched, std::uint32_t operation) {
  if (touched.begin >= touched.end) return;
  Line& line = lines_[static_cast<std::size_t>(touched.area)];
  split(line, touched.begin);
  split(line, touched.end);
  line.erase(line.lower_bound(touched.begin), line.lower_bound(touched.end));
  line.emplace(touched.begin, Last{.end = touched.end, .writer = operation});
}

}  // namespace tutti::v0::detail
