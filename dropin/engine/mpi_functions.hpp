/// @file
/// The MPI's own functions, called by name with counts of either width.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tutti::dropin {

/// A count of MPI's functions that end in _c.
using Large = std::int64_t;

/// @param name such as "PMPI_Send". @return its address, or null if the MPI lacks it.
[[nodiscard]] void* find_in_mpi(const char* name) noexcept;

/// A name as an argument of a template.
template <std::size_t kSize>
struct Name {
  char text[kSize]{};
  consteval Name(const char (&name)[kSize]) { std::copy_n(name, kSize, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, kSize - 1}; }
};

namespace detail {

/// An argument of a function with large counts, for the function with counts of int.
template <class T>
class Narrow {
 public:
  Narrow(T value, std::size_t) : value_{value} {}
  [[nodiscard]] bool fits() const { return true; }
  [[nodiscard]] T get() const { return value_; }

 private:
  T value_;
};
inline bool fits_int(Large value) {
  return value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
}
template <>
class Narrow<Large> {
 public:
  Narrow(Large value, std::size_t) : value_{value} {}
  [[nodiscard]] bool fits() const { return fits_int(value_); }
  [[nodiscard]] int get() const { return static_cast<int>(value_); }

 private:
  Large value_;
};
/// Counts or displacements of all ranks.
template <>
class Narrow<const Large*> {
 public:
  Narrow(const Large* values, std::size_t ranks)
      : fits_{values == nullptr || std::all_of(values, values + ranks, fits_int)}, is_null_{
                                                                                       values ==
                                                                                       nullptr} {
    if (values != nullptr && fits_) values_.assign(values, values + ranks);
  }
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] const int* get() const { return is_null_ ? nullptr : values_.data(); }

 private:
  bool fits_;
  bool is_null_;
  std::vector<int> values_{};
};

template <class... A>
int call_narrow(void* function, MPI_Comm comm, const Narrow<A>&... arguments) {
  if (!(arguments.fits() && ...)) {
    PMPI_Comm_call_errhandler(comm, MPI_ERR_COUNT);
    return MPI_ERR_COUNT;
  }
  return reinterpret_cast<int (*)(decltype(arguments.get())..., MPI_Comm)>(function)(
      arguments.get()..., comm);
}

}  // namespace detail

/// Runs the MPI's own collective. Counts of Large take the function that ends in _c, or the other
/// one if the MPI lacks that; then the communicator's error handler gets a count that is too large.
/// @tparam kName without PMPI_ and _c. @tparam Count of its counts. @param comm its last argument.
template <Name kName, class Count, class... A>
int hand_on(MPI_Comm comm, A... arguments) {
  static constexpr auto kFull = [] {
    std::array<char, 6 + sizeof kName.text + 2> name{};
    std::copy_n("PMPI_", 5, name.begin());
    std::ranges::copy(kName.view(), name.begin() + 5);
    return name;
  }();
  static constexpr auto kLarge = [] {
    auto name = kFull;
    std::copy_n("_c", 2, name.begin() + 5 + kName.view().size());
    return name;
  }();
  if constexpr (std::is_same_v<Count, Large>) {
    static void* const large = find_in_mpi(kLarge.data());
    if (large != nullptr)
      return reinterpret_cast<int (*)(A..., MPI_Comm)>(large)(arguments..., comm);
  }
  static void* const function = find_in_mpi(kFull.data());
  if constexpr (std::is_same_v<Count, Large>) {
    int inter = 0;
    int ranks = 0;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter != 0) PMPI_Comm_remote_size(comm, &ranks);
    else PMPI_Comm_size(comm, &ranks);
    return detail::call_narrow<A...>(
        function, comm, detail::Narrow<A>{arguments, static_cast<std::size_t>(ranks)}...);
  } else {
    return reinterpret_cast<int (*)(A..., MPI_Comm)>(function)(arguments..., comm);
  }
}

}  // namespace tutti::dropin
