#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "print.hpp"
#include "print_picture.hpp"

namespace tutti::v0 {
namespace {

// Two colours that people with any colour vision distinguish (Okabe and Ito), and quiet greys.
constexpr std::string_view kMove = "#0072b2";
constexpr std::string_view kReduce = "#d55e00";
constexpr std::string_view kFinish = "#009e73";
constexpr std::string_view kInk = "#24292f";
constexpr std::string_view kQuiet = "#6e7781";
constexpr std::string_view kLine = "#d0d7de";
constexpr std::string_view kBand = "#f6f8fa";

constexpr double kLeft = 64;  // room for the numbers of the steps
constexpr double kTop = 112;  // room for the title and the names of the ranks
constexpr double kRight = 28;
constexpr double kBottom = 64;  // room for the legend
constexpr double kLeast = 660;  // wide enough for title and legend

/// A coordinate with one decimal, independent of the locale.
std::string at(double value) {
  const auto tenths = static_cast<long>(std::lround(value * 10));
  const std::string digits = std::to_string(std::labs(tenths));
  std::string text = tenths < 0 ? "-" : "";
  text += digits.size() > 1 ? digits.substr(0, digits.size() - 1) : "0";
  if (digits.back() != '0') text += std::string{"."} + digits.back();
  return text;
}

struct Point {
  double x;
  double y;
};

std::string line(Point a, Point b, std::string_view style) {
  return "<line x1='" + at(a.x) + "' y1='" + at(a.y) + "' x2='" + at(b.x) + "' y2='" + at(b.y) +
         "' " + std::string{style} + "/>\n";
}
std::string circle(Point centre, double radius, std::string_view style) {
  return "<circle cx='" + at(centre.x) + "' cy='" + at(centre.y) + "' r='" + at(radius) + "' " +
         std::string{style} + "/>\n";
}
std::string box(Point corner, Point size, std::string_view style) {
  return "<rect x='" + at(corner.x) + "' y='" + at(corner.y) + "' width='" + at(size.x) +
         "' height='" + at(size.y) + "' " + std::string{style} + "/>\n";
}
std::string words(Point where, std::string_view text, std::string_view style) {
  return "<text x='" + at(where.x) + "' y='" + at(where.y) + "' " + std::string{style} + ">" +
         escaped_for_xml(text) + "</text>\n";
}
std::string attribute(std::string_view key, std::string_view value) {
  return std::string{key} + "='" + std::string{value} + "' ";
}

/// A picture on its canvas.
class Drawing {
 public:
  Drawing(const Picture& picture, const Printed& printed)
      : picture_{picture}, printed_{printed}, column_{width_of_column(picture.ranks)} {
    place_rows();
    width_ = std::max(kLeast, kLeft + kRight + column_ * picture.ranks);
    margin_ = kLeft + (width_ - kLeft - kRight - column_ * picture.ranks) / 2;
  }

  std::string draw() {
    const double height = rows_.back() + kBottom;
    svg_ = "<svg xmlns='http://www.w3.org/2000/svg' width='" + at(width_) + "' height='" +
           at(height) + "' viewBox='0 0 " + at(width_) + " " + at(height) +
           "' font-family='DejaVu Sans, Helvetica, Arial, sans-serif'>\n";
    definitions();
    svg_ += box({0, 0}, {width_, height}, "fill='#ffffff'");
    svg_ += words(
        {24, 34}, picture_.title,
        attribute("font-size", "19") + attribute("font-weight", "bold") + attribute("fill", kInk));
    svg_ += words({24, 56}, picture_.subtitle,
                  attribute("font-size", "12") + attribute("fill", kQuiet));
    grid();
    svg_ += "<g clip-path='url(#plot)'>\n";
    for (const Arrow& arrow : picture_.arrows) shaft(arrow);
    svg_ += "</g>\n";
    for (const Mark& mark : picture_.marks) draw_mark(mark);
    labels();
    legend({24, height - 26});
    return svg_ + "</svg>\n";
  }

 private:
  static double width_of_column(int ranks) {
    if (ranks <= 4) return 120;
    return ranks <= 8 ? 92 : 72;
  }

  /// Sets the heights of rows. Long arrows need tall rows, since flat arrows are hard to read.
  void place_rows() {
    std::vector<double> heights(static_cast<std::size_t>(picture_.steps), 0.0);
    for (const Arrow& arrow : picture_.arrows) {
      const double reach = std::abs(distance_of(arrow, picture_.ranks));
      double& height = heights[static_cast<std::size_t>(arrow.end - 1)];
      height = std::max(height, std::min(38 + 11 * reach, 170.0));
    }
    rows_ = {kTop + 14};
    for (const double height : heights) rows_.push_back(rows_.back() + std::max(height, 38.0));
  }

  [[nodiscard]] double x(double rank) const { return margin_ + column_ * (rank + 0.5); }
  [[nodiscard]] double y(int step) const { return rows_[static_cast<std::size_t>(step)]; }
  [[nodiscard]] bool is_quiet(const Arrow& arrow) const {
    return printed_.only && arrow.from != *printed_.only && arrow.to != *printed_.only;
  }
  static std::string_view colour_of(const Arrow& arrow) { return arrow.reduces ? kReduce : kMove; }

  void definitions() {
    svg_ += "<defs>\n";
    for (const auto& [name, colour] : {std::pair{"move", kMove}, std::pair{"reduce", kReduce}})
      svg_ += "<marker id='" + std::string{name} +
              "' viewBox='0 0 10 10' refX='10' refY='5' markerWidth='9' markerHeight='7' "
              "markerUnits='userSpaceOnUse' orient='auto'><path d='M0,0.5 L10,5 L0,9.5 L2.5,5 z' "
              "fill='" +
              std::string{colour} + "'/></marker>\n";
    svg_ += "<clipPath id='plot'>" +
            box({x(-0.62), kTop - 8},
                {x(picture_.ranks - 0.38) - x(-0.62), rows_.back() + 20 - kTop}, "") +
            "</clipPath>\n";
    svg_ += "</defs>\n";
  }

  void grid() {
    const double left = x(-0.62);
    const double right = x(picture_.ranks - 0.38);
    for (int step = 0; step < picture_.steps; ++step) {
      if (step % 2 == 0)
        svg_ +=
            box({left, y(step)}, {right - left, y(step + 1) - y(step)}, attribute("fill", kBand));
      svg_ += words({left - 10, (y(step) + y(step + 1)) / 2 + 4}, std::to_string(step + 1),
                    attribute("font-size", "11") + attribute("text-anchor", "end") +
                        attribute("fill", kQuiet));
    }
    if (picture_.steps > 0)
      svg_ += words({left - 10, kTop - 18}, "step",
                    attribute("font-size", "11") + attribute("text-anchor", "end") +
                        attribute("fill", kQuiet));
    for (Rank rank = 0; rank < picture_.ranks; ++rank) column(rank);
  }

  void column(Rank rank) {
    const bool is_root = is_rooted(printed_.collective) && rank == printed_.root;
    svg_ += line({x(rank), kTop - 8}, {x(rank), rows_.back() + 8},
                 attribute("stroke", kLine) + "stroke-width='1.5'");
    svg_ += box({x(rank) - 26, kTop - 33}, {52, 22},
                "rx='6' " + attribute("fill", is_root ? kInk : "#eaeef2"));
    svg_ += words({x(rank), kTop - 17.5}, "rank " + std::to_string(rank),
                  attribute("font-size", "11") + attribute("text-anchor", "middle") +
                      attribute("fill", is_root ? "#ffffff" : kInk));
  }

  /// The ends of an arrow; a wrapping arrow ends past the last rank.
  [[nodiscard]] std::pair<Point, Point> ends(const Arrow& arrow) const {
    const int distance = distance_of(arrow, picture_.ranks);
    return {{x(arrow.from), y(arrow.start)}, {x(arrow.from + distance), y(arrow.end)}};
  }

  void shaft(const Arrow& arrow) {
    auto [tail, head] = ends(arrow);
    const double width = head.x - tail.x;
    const double height = head.y - tail.y;
    // hypot would tie the command, and so the Python package, to glibc 2.35.
    const double length = std::sqrt(width * width + height * height);
    const double gap = arrow.reduces ? 8.0 : 5.0;  // the head ends where its node begins
    head.x -= width * gap / length;
    head.y -= height * gap / length;
    const std::string style = attribute("stroke", colour_of(arrow)) + "stroke-width='1.6' " +
                              (is_quiet(arrow) ? "opacity='0.13' " : "") + "marker-end='url(#" +
                              (arrow.reduces ? "reduce" : "move") + ")'";
    svg_ += line(tail, head, style);
    if (arrow.wraps) {
      const double around = column_ * picture_.ranks * (head.x > tail.x ? -1 : 1);
      svg_ += line({tail.x + around, tail.y}, {head.x + around, head.y}, style);
    }
    svg_ += circle({x(arrow.from), y(arrow.start)}, 3.2, attribute("fill", kInk));
    if (!arrow.reduces) svg_ += circle({x(arrow.to), y(arrow.end)}, 3.2, attribute("fill", kInk));
  }

  void labels() {
    for (const Arrow& arrow : picture_.arrows) {
      if (is_quiet(arrow) || arrow.from == arrow.to) continue;
      const Point where = label_point(arrow);
      svg_ += words({where.x, where.y + 3.5}, arrow.label,
                    attribute("font-size", "10") + attribute("text-anchor", "middle") +
                        attribute("fill", colour_of(arrow)) + "font-weight='bold' " +
                        "stroke='#ffffff' stroke-width='3.5' stroke-linejoin='round' "
                        "paint-order='stroke'");
    }
  }

  /// The point of a label. It is between two columns but not in the middle, and a little nearer to
  /// the sender for messages to the left, so that labels of crossing arrows do not overlap.
  [[nodiscard]] Point label_point(const Arrow& arrow) const {
    const int distance = distance_of(arrow, picture_.ranks);
    const double reach = std::abs(distance);
    const double aim = (distance > 0 || reach < 3 ? 0.42 : 0.3) * reach;
    double where = 0.27;
    while (where + 0.5 <= aim) where += 0.5;
    const auto [tail, head] = ends(arrow);
    Point point{tail.x + (head.x - tail.x) * where / reach,
                tail.y + (head.y - tail.y) * where / reach};
    const double around = column_ * picture_.ranks;
    if (point.x < x(-0.5)) point.x += around;
    if (point.x > x(picture_.ranks - 0.5)) point.x -= around;
    return point;
  }

  void draw_mark(const Mark& mark) { symbol({x(mark.rank), y(mark.step)}, mark.kind); }

  void symbol(Point centre, Mark::WorkType kind) {
    const std::string pen = attribute("stroke", kReduce) + "stroke-width='1.6' ";
    switch (kind) {
      case Mark::WorkType::combine:
        svg_ += circle(centre, 6, "fill='#ffffff' " + pen);
        svg_ += line({centre.x - 3.4, centre.y}, {centre.x + 3.4, centre.y}, pen);
        svg_ += line({centre.x, centre.y - 3.4}, {centre.x, centre.y + 3.4}, pen);
        return;
      case Mark::WorkType::local_reduce:
        svg_ += box({centre.x - 6, centre.y - 6}, {12, 12}, "fill='#ffffff' " + pen);
        svg_ += line({centre.x - 3.4, centre.y}, {centre.x + 3.4, centre.y}, pen);
        svg_ += line({centre.x, centre.y - 3.4}, {centre.x, centre.y + 3.4}, pen);
        return;
      case Mark::WorkType::copy:
        svg_ += box({centre.x - 5, centre.y - 5}, {10, 10},
                    "fill='#ffffff' stroke-width='1.6' " + attribute("stroke", kMove));
        return;
      case Mark::WorkType::finish:
        svg_ +=
            circle(centre, 9.5, "fill='none' stroke-width='1.8' " + attribute("stroke", kFinish));
        return;
    }
  }

  void legend(Point where) {
    const auto name = [&](std::string_view text, double room) {
      svg_ += words({where.x, where.y + 4}, text,
                    attribute("font-size", "11") + attribute("fill", kInk));
      where.x += room;
    };
    const auto arrow = [&](bool reduces, std::string_view text, double room) {
      if (std::none_of(picture_.arrows.begin(), picture_.arrows.end(),
                       [reduces](const Arrow& a) { return a.reduces == reduces; }))
        return;
      svg_ += line(where, {where.x + 30, where.y},
                   attribute("stroke", reduces ? kReduce : kMove) + "stroke-width='1.6' " +
                       "marker-end='url(#" + (reduces ? "reduce" : "move") + ")'");
      where.x += 38;
      name(text, room);
    };
    const auto mark = [&](Mark::WorkType kind, std::string_view text, double room) {
      if (std::none_of(picture_.marks.begin(), picture_.marks.end(),
                       [kind](const Mark& m) { return m.kind == kind; }))
        return;
      symbol({where.x + 8, where.y}, kind);
      where.x += 24;
      name(text, room);
    };
    arrow(false, "move", 52);
    arrow(true, "move and reduce", 114);
    mark(Mark::WorkType::combine, "reduced", 66);
    mark(Mark::WorkType::local_reduce, "reduced locally", 106);
    mark(Mark::WorkType::copy, "copied", 58);
    mark(Mark::WorkType::finish, "complete", 80);
  }

  const Picture& picture_;
  const Printed& printed_;
  double column_;
  double width_ = 0;
  double margin_ = 0;
  std::vector<double> rows_{};
  std::string svg_{};
};

}  // namespace

std::string to_svg(const Printed& printed) {
  const Picture picture = picture_of(printed);
  return Drawing{picture, printed}.draw();
}

}  // namespace tutti::v0
