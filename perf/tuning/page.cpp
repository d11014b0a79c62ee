#include "perf/tuning/page.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.hpp"
#include "perf/sweep/choice.hpp"

namespace tutti::perf {

namespace {

using PageRecord = nlohmann::ordered_json;

PageRecord record_at(const char* kind, const detail::TunedPlace& place) {
  return {{"record", kind},
          {"collective", name_of(place.collective)},
          {"buffers", place.visible ? "visible" : "private"}};
}

PageRecord record_of(const detail::TunedPlace& place, const detail::TunedRule& rule) {
  PageRecord record = record_at("rule", place);
  record.update(PageRecord{{"from_bytes", rule.from_bytes},
                           {"algorithm", rule.algorithm},
                           {"segment_bytes", rule.segment_bytes}});
  return record;
}

PageRecord record_of(const detail::TunedPlace& place, const detail::TunedCell& cell) {
  PageRecord record = record_at("cell", place);
  record.update(PageRecord{{"bytes", cell.bytes},
                           {"algorithm", cell.algorithm},
                           {"segment_bytes", cell.segment_bytes},
                           {"median_us", cell.median_us},
                           {"ci_low_us", cell.low_us},
                           {"ci_high_us", cell.high_us},
                           {"align", cell.align},
                           {"pattern", cell.pattern}});
  return record;
}

PageRecord record_of(const ModelTime& time) {
  PageRecord record = record_at("automatic", time.place);
  record.update(PageRecord{{"bytes", time.bytes},
                           {"median_us", time.summary.median},
                           {"ci_low_us", time.summary.interval.low},
                           {"ci_high_us", time.summary.interval.high}});
  return record;
}

// The choice of the model at the cells of a table.
PageRecord choice_at(const detail::TunedPlace& place, std::size_t bytes, const TunePage& page,
                     MeasuredWorld& world) {
  const SweepOptions& sweep = page.options.sweep;
  const Workload workload{.collective = place.collective,
                          .type = sweep.type,
                          .op = sweep.op,
                          .root = sweep.root,
                          .size = place.ranks};
  PageRecord record = choice_of(world, with_bytes(workload, bytes), place.visible);
  record["buffers"] = place.visible ? "visible" : "private";
  return record;
}

}  // namespace

std::vector<std::string> lines_of(const TunePage& page, MeasuredWorld& world) {
  std::vector<std::string> lines;
  const auto add = [&](const PageRecord& record) { lines.push_back(detail::text_of_json(record)); };
  PageRecord context{{"record", "context"}, {"schema", "tutti tune/1"}};
  context.update(json_of(page.context));
  context["transport"] = page.transport;
  context["file"] = page.options.path;
  context["align"] = page.options.sweep.align.text();
  context["pattern"] = name_of(page.options.sweep.pattern);
  add(context);
  for (const detail::TunedTable& table : page.tuning.tables) {
    const detail::TunedPlace& place = table.place;
    if (place.ranks != page.context.ranks || place.hosts != page.hosts ||
        place.transport != page.transport)
      continue;
    std::set<std::size_t> sizes;
    for (const detail::TunedRule& rule : table.rules) add(record_of(place, rule));
    for (const detail::TunedCell& cell : table.cells) {
      add(record_of(place, cell));
      sizes.insert(cell.bytes);
    }
    for (const std::size_t bytes : sizes) add(choice_at(place, bytes, page, world));
  }
  for (const ModelTime& time : page.automatic) add(record_of(time));
  return lines;
}

}  // namespace tutti::perf
