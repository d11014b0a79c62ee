#include "window.hpp"

#include <algorithm>
#include <iterator>

namespace tutti::standin {

CUdeviceptr Windows::open(const SharedPiece& piece, int opener) {
  const std::scoped_lock lock{mutex_};
  const auto found = std::ranges::find_if(by_start_, [&](const auto& entry) {
    return entry.second.piece == piece && entry.second.opener == opener;
  });
  if (found != by_start_.end()) {
    ++found->second.references;
    return found->first;
  }
  const SharedFile file{piece.process, piece.file, piece.nonce};
  if (!file.is_open()) return 0;
  const std::size_t before = piece.offset % page_bytes();
  const std::size_t pages = (before + piece.bytes + page_bytes() - 1) / page_bytes();
  auto mapping = std::make_shared<const Mapping>(file, piece.offset - before, pages * page_bytes());
  const CUdeviceptr start = mapping->fence() + before;
  by_start_.emplace(
      start,
      Window{.piece = piece, .opener = opener, .start = start, .mapping = std::move(mapping)});
  return start;
}

void Windows::close(CUdeviceptr start) {
  const std::scoped_lock lock{mutex_};
  const auto found = by_start_.find(start);
  if (found != by_start_.end() && --found->second.references == 0) by_start_.erase(found);
}

std::optional<Window> Windows::find(CUdeviceptr address) const {
  const std::scoped_lock lock{mutex_};
  const auto after = by_start_.upper_bound(address);
  if (after == by_start_.begin()) return {};
  Window window = std::prev(after)->second;
  const SharedPiece& piece = window.piece;
  if (address - window.start >= piece.bytes) return {};
  window.lost = loses_ && !SharedFile{piece.process, piece.file, piece.nonce}.is_open();
  return window;
}

void Windows::write_leaks(std::ostream& out) const {
  const std::scoped_lock lock{mutex_};
  for (const auto& [start, window] : by_start_)
    out << "cuIpcOpenMemHandle " << window.piece.bytes << " bytes\n";
}

}  // namespace tutti::standin
