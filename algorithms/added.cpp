// Catalogs with algorithms of programs, and tables of written schedules.
#include <algorithm>
#include <functional>
#include <utility>

#include <tutti/spi/catalog.hpp>

#include "refuse.hpp"

namespace tutti::v0 {
namespace {

bool is_own(const Algorithm& row) noexcept {
  const std::span<const Algorithm> own = catalog();
  constexpr std::less<const Algorithm*> is_before;
  return !is_before(&row, own.data()) && is_before(&row, own.data() + own.size());
}

bool is_word(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string shapes_of(const ScheduleTable& table) {
  std::string shapes;
  for (const auto& [key, schedules] : table.all())
    shapes += (shapes.empty() ? "" : ", ") + count_of(key.first, "rank") +
              (key.second == 0 ? "" : " and root " + std::to_string(key.second));
  return shapes;
}

Schedule written_down(const Shape& shape, Rank self) {
  const std::span<const Schedule> found = shape.table->find({shape.size, shape.root});
  if (!found.empty()) return found[static_cast<std::size_t>(self)];
  reject("it has written-down schedules for " + shapes_of(*shape.table) + ", not for " +
         count_of(shape.size, "rank") + " and root " + std::to_string(shape.root));
}

}  // namespace

void require(const ScheduleTable& table, int size) {
  if (std::ranges::none_of(table.all(),
                           [size](const auto& entry) { return entry.first.first == size; }))
    reject("it has written-down schedules for " + shapes_of(table) + ", not for " +
           count_of(size, "rank"));
}

Catalog::Catalog() {
  for (const Algorithm& row : catalog()) rows_.push_back(&row);
}

void Catalog::add(const Algorithm& row) {
  auto added = std::make_shared<Added>();
  added->row = row;
  add_row(std::move(added));
}

void Catalog::add(Algorithm row, ScheduleTable table) {
  auto added = std::make_shared<Added>();
  added->table = std::move(table);
  if (!added->table.all().empty()) row.build = written_down;
  added->row = row;
  added->row.table = &added->table;
  add_row(std::move(added));
}

void Catalog::add_row(std::shared_ptr<Added> added) {
  Algorithm& row = added->row;
  added->name = row.name;
  added->summary = row.summary;
  row.name = added->name;
  row.summary = added->summary;
  if (!is_word(row.name))
    reject("an algorithm cannot be named '" + added->name +
           "': use lower-case letters, digits and underscores, such as my_ring");
  if (find(row.collective, row.name) != nullptr)
    reject("there is an algorithm '" + added->name + "' for " +
           std::string{name_of(row.collective)} + " already; choose another name");
  if (row.build == nullptr)
    reject("algorithm '" + added->name + "' has no function that builds its schedules");
  const auto behind = std::ranges::find_if(
      rows_.rbegin(), rows_.rend(),
      [&](const Algorithm* other) { return other->collective == row.collective; });
  rows_.insert(behind.base(), &row);
  added_.push_back(std::move(added));
}

const Algorithm* Catalog::find(Collective collective, std::string_view name) const noexcept {
  const auto found = std::ranges::find_if(rows_, [&](const Algorithm* row) {
    return row->collective == collective && row->name == name;
  });
  return found == rows_.end() ? nullptr : *found;
}

bool is_added(const Choice& choice) noexcept {
  return !is_own(*choice.algorithm) ||
         (choice.hierarchy && std::ranges::any_of(choice.hierarchy->stages, is_added));
}

}  // namespace tutti::v0
