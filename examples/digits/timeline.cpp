#include "timeline.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace digits {

namespace {

constexpr std::size_t kColumns = 64;

double milliseconds(tutti::Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Fills the part of a line that is between two times.
void draw(std::string& line, double begun, double ended, double whole, char what) {
  const auto column = [whole](double time) {
    const double share = std::clamp(time / whole, 0.0, 1.0);
    return static_cast<std::size_t>(share * kColumns);
  };
  const std::size_t first = std::min(column(begun), kColumns - 1);
  const std::size_t count = std::max<std::size_t>(column(ended), first + 1) - first;
  line.replace(first, count, count, what);
}

std::string row(const char* head, const std::string& line, double time) {
  char text[160];
  std::snprintf(text, sizeof text, "%-10s|%s| %.3f ms\n", head, line.c_str(), time);
  return text;
}

}  // namespace

std::string timeline(const tutti::GradientSync& sync) {
  const tutti::StepReport& step = sync.last_step();
  const double computing = milliseconds(step.computing);
  const double waiting = milliseconds(step.exposed + step.waiting);
  const double whole = computing + waiting;
  const std::string empty(kColumns, ' ');
  std::string text = "step " + std::to_string(step.step) + "\n", line = empty;
  draw(line, 0, computing, whole, '=');
  text += row("computing", line, computing);
  line = empty;
  draw(line, computing, whole, whole, '.');
  text += row("waiting", line, waiting);
  std::size_t number = 0;
  for (const tutti::BucketReport& bucket : sync.last_buckets()) {
    const double begun = milliseconds(bucket.begun), ended = milliseconds(bucket.ended);
    line = empty;
    draw(line, begun, ended, whole, '#');
    text += row(("bucket " + std::to_string(number++)).c_str(), line, ended - begun);
  }
  return text;
}

}  // namespace digits
