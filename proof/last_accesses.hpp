/// @file
/// Which operations come after which, by what they touch: lowering and prediction ask alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// What an operation touches, each with a numbering of its own.
enum class Area : std::uint8_t {
  in,       ///< The caller's input, by units.
  out,      ///< The caller's output, by units; in place the input is there too.
  held,     ///< Memory of the run's own, by slots.
  stage,    ///< Where what arrives is stored for a while, by bytes.
  arrival,  ///< What arrives itself.
};

/// A run in an area.
struct Touched {
  Area area = Area::in;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What an operation reads and writes.
struct Accesses {
  std::vector<Touched> reads{};
  std::vector<Touched> writes{};
};

/// Who has touched what last: an operation comes after those that wrote what it reads or writes,
/// and after those that read what it writes.
class LastAccesses {
 public:
  /// Adds the operations that one comes after. @param accesses of it.
  void collect(const Accesses& accesses, std::vector<std::uint32_t>& before) const;
  /// @param accesses of an operation. @param operation its number.
  void note(const Accesses& accesses, std::uint32_t operation);
  /// What comes from now on comes after nothing.
  void forget() noexcept;

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  struct Last {
    std::uint64_t end = 0;
    std::uint32_t writer = kNobody;
    std::vector<std::uint32_t> readers{};  // since then
  };
  using Line = std::map<std::uint64_t, Last>;  // by beginning
  template <class Visit>
  void for_each_met(const Touched& touched, Visit visit) const;
  static void split(Line& line, std::uint64_t at);
  void note_read(const Touched& touched, std::uint32_t operation);
  void note_write(const Touched& touched, std::uint32_t operation);

  std::array<Line, 5> lines_{};
};

}  // namespace tutti::v0::detail
