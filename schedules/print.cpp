#include "print.hpp"

#include <array>

#include <tutti/types.hpp>

namespace tutti::v0 {
namespace {

constexpr std::array<std::string_view, 6> kSteps{"send",   "recv", "recv_reduce",
                                                 "reduce", "copy", "finish"};

std::string_view name_of(Step::Kind kind) noexcept {
  return kSteps[static_cast<std::size_t>(kind)];
}
std::string_view name_of(Side side) noexcept {
  return side == Side::left ? "left" : "right";
}
std::string_view name_of(Space space) noexcept {
  return space == Space::in ? "in" : space == Space::out ? "out" : "scratch";
}

std::string padded(std::string_view text, std::size_t width) {
  std::string result{text};
  result.resize(std::max(width, text.size()), ' ');
  return result;
}

bool reduces(const Step& step) noexcept {
  return step.kind() == Step::Kind::recv_reduce || step.kind() == Step::Kind::reduce;
}

std::string line_of(const Step& step, std::size_t width) {
  std::string line = padded(name_of(step.kind()), 11) + "  ";
  if (step.kind() == Step::Kind::finish) return line + text_of(step.slots());
  line +=
      padded(text_of(step.slots()), width) + (step.kind() == Step::Kind::send ? "  -> " : "  <- ");
  line += step.has_peer() ? std::to_string(step.peer()) : text_of(step.from());
  if (reduces(step)) line += " (" + std::string{name_of(step.side())} + ")";
  return line;
}

void append_text(std::string& text, const Schedule& schedule, std::size_t width) {
  const std::size_t digits = std::to_string(schedule.rounds()).size();
  for (std::size_t index = 0; index < schedule.rounds(); ++index) {
    const std::string number = std::to_string(index);
    std::string head = "  round " + std::string(digits - number.size(), ' ') + number + ": ";
    for (const Step& step : schedule.round(index)) {
      text += head + line_of(step, width) + "\n";
      head.assign(head.size(), ' ');
    }
  }
}

template <class Visit>
void for_each_rank(const Printed& printed, Visit visit) {
  for (std::size_t rank = 0; rank < printed.schedules.size(); ++rank)
    if (!printed.only || static_cast<std::size_t>(*printed.only) == rank)
      visit(rank, printed.schedules[rank]);
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) result += c;  // control characters are dropped
  }
  return result + '"';
}

std::string field(std::string_view key, std::string_view word) {
  return quoted(key) + ":" + quoted(word);
}
std::string field(std::string_view key, std::uint64_t number) {
  return quoted(key) + ":" + std::to_string(number);
}

std::string json_of(const Step& step) {
  std::string json = "{" + field("step", name_of(step.kind()));
  if (step.has_peer()) json += "," + field("peer", static_cast<std::uint64_t>(step.peer()));
  const Slots slots = step.slots();
  json += "," + field("space", name_of(slots.space)) + "," + field("first", slots.first) + "," +
          field("count", slots.count);
  if (step.kind() == Step::Kind::reduce || step.kind() == Step::Kind::copy)
    json += "," + field("from_space", name_of(step.from().space)) + "," +
            field("from_first", step.from().first);
  if (reduces(step)) json += "," + field("side", name_of(step.side()));
  return json + "}";
}

/// A JSON array of `count` parts.
template <class Count, class Part>
std::string json_array(Count count, Part part) {
  std::string json = "[";
  for (Count index = 0; index < count; ++index) json += (index == 0 ? "" : ",") + part(index);
  return json + "]";
}

}  // namespace

std::string counted(std::uint64_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string{noun} + (number == 1 ? "" : "s");
}

std::string escaped_for_xml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') result += "&lt;";
    else if (c == '>') result += "&gt;";
    else if (c == '&') result += "&amp;";
    else if (c == '"') result += "&quot;";
    else result += c;
  }
  return result;
}

std::string text_of(const Slots& slots) {
  std::string text = std::string{name_of(slots.space)} + "[" + std::to_string(slots.first);
  if (slots.count != 1) text += ".." + std::to_string(std::uint64_t{slots.first} + slots.count - 1);
  return text + "]";
}

std::string to_text(const Printed& printed) {
  std::string text = printed.algorithm + " " + std::string{name_of(printed.collective)} + ", " +
                     counted(printed.schedules.size(), "rank");
  if (is_rooted(printed.collective)) text += ", root " + std::to_string(printed.root);
  if (!printed.schedules.empty()) text += ", " + counted(printed.schedules.front().units(), "unit");
  text += "\n";
  std::size_t width = 0;
  for_each_rank(printed, [&](std::size_t, const Schedule& schedule) {
    for (const Step& step : schedule.steps()) width = std::max(width, text_of(step.slots()).size());
  });
  for_each_rank(printed, [&](std::size_t rank, const Schedule& schedule) {
    text += "rank " + std::to_string(rank) +
            (schedule.rounds() == 0 ? ": nothing to do\n"
             : schedule.paced()     ? ", round after round\n"
                                    : "\n");
    append_text(text, schedule, width);
  });
  return text;
}

std::string to_json(const Printed& printed) {
  const Schedule none{1};
  const Schedule& any = printed.schedules.empty() ? none : printed.schedules.front();
  std::string ranks;
  for_each_rank(printed, [&](std::size_t rank, const Schedule& schedule) {
    ranks += (ranks.empty() ? "\n {" : ",\n {") + field("rank", rank) +
             (schedule.paced() ? ",\"paced\":true" : "") + ",\"rounds\":" +
             json_array(schedule.rounds(),
                        [&](std::size_t index) {
                          const std::span<const Step> round = schedule.round(index);
                          return json_array(round.size(),
                                            [&](std::size_t s) { return json_of(round[s]); });
                        }) +
             "}";
  });
  return "{" + field("algorithm", printed.algorithm) + "," +
         field("collective", tutti::name_of(printed.collective)) + "," +
         field("size", printed.schedules.size()) + "," +
         field("root", static_cast<std::uint64_t>(printed.root)) + "," +
         field("units", any.units()) + "," + field("planes", any.planes()) + ",\"ranks\":[" +
         ranks + "\n]}\n";
}

}  // namespace tutti::v0
