/// @file
/// Dependencies of operations, from what they read and write: for lowering and for prediction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// The areas that operations use. Each has a numbering of its own.
enum class Area : std::uint8_t {
  in,       ///< The caller's input, by units.
  out,      ///< The caller's output, by units; in place the input is there too.
  held,     ///< Memory of the run, by slots.
  stage,    ///< Memory that stores arriving bytes for a while, by bytes.
  arrival,  ///< The arriving bytes themselves.
};

/// A run in an area.
struct Touched {
  Area area = Area::in;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The reads and writes of an operation.
struct Accesses {
  std::vector<Touched> reads{};
  std::vector<Touched> writes{};
};

/// The last readers and writers of each place. An operation depends on earlier writers of what it
/// uses, and on earlier readers of what it writes.
class LastAccesses {
 public:
  /// Appends to `before` the operations that an operation with these accesses depends on.
  void collect(const Accesses& accesses, std::vector<std::uint32_t>& before) const;
  /// Records the accesses of an operation. @param operation its number.
  void note(const Accesses& accesses, std::uint32_t operation);
  /// Clears the records: later operations do not depend on earlier ones.
  void forget() noexcept;

 private:
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  struct Last {
    std::uint64_t end = 0;
    std::uint32_t writer = kNobody;
    std::vector<std::uint32_t> readers{};  // since the write
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
