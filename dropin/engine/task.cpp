#include "dropin/engine/task.hpp"

#include <tutti/spi/copy.hpp>

namespace tutti::dropin {

void Task::read(std::span<const Block> blocks) {
  in.emplace(blocks);
  if (!in->is_in_place()) sources.assign(blocks.begin(), blocks.end());
  read_again();
  call.in = in->data();
  call.in_count = in->size();
}

void Task::read_again() {
  if (!sources.empty()) in->load(sources);
}

void Task::write(std::span<const Block> blocks) {
  out.emplace(blocks);
  if (!out->is_in_place()) results.assign(blocks.begin(), blocks.end());
  call.out = out->data();
  call.out_count = out->size();
}

void Task::finish() const {
  if (!results.empty()) out->store(results);
  if (front != nullptr) copy_bytes(front, aside.data(), aside.size());
}

}  // namespace tutti::dropin
