/// @file
/// The MPI's own functions, called by name with counts of either width.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dropin/engine/kept.hpp"

namespace tutti::dropin {

/// A count of MPI's functions that end in _c.
using Large = std::int64_t;

/// @param name such as "PMPI_Send". @return its address, or null if the MPI lacks it.
[[nodiscard]] void* find_in_mpi(const char* name) noexcept;

/// A handle of MPI_Info.
using Info = std::conditional_t<std::is_pointer_v<MPI_Comm>, void*, int>;

/// The form of a collective.
struct Form {
  MPI_Request* request =
      nullptr;               ///< That a call gets which starts or is prepared; null: it blocks.
  bool is_prepared = false;  ///< Whether MPI_Start starts the call.
  Info info{};               ///< Information of the program for a prepared one.

  [[nodiscard]] bool blocks() const { return request == nullptr; }
  [[nodiscard]] bool starts() const { return request != nullptr && !is_prepared; }
};

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

/// The functions of a collective: Bcast, Ibcast, Bcast_init.
enum class Kind : std::uint8_t { blocking, starting, preparing };

/// The name of a collective in the MPI: "PMPI_Bcast", "PMPI_Ibcast_c", or "PMPI_Bcast_init_c".
template <Name kName, Kind kKind>
consteval auto full_name(std::string_view end) {
  constexpr std::string_view kPrefix = kKind == Kind::starting ? "PMPI_I" : "PMPI_";
  constexpr std::string_view kInit = kKind == Kind::preparing ? "_init" : "";
  std::array<char, kPrefix.size() + sizeof kName.text + kInit.size() + 2> full{};
  char* const first = std::ranges::copy(kPrefix, full.begin()).out;
  char* const to = std::ranges::copy(kInit, std::ranges::copy(kName.view(), first).out).out;
  if (kKind != Kind::starting) *first = static_cast<char>(*first - 'a' + 'A');
  std::ranges::copy(end, to);
  return full;
}

// MPIs before version 4 of MPI have functions that prepare a call as extensions, or not at all.
template <Kind kKind>
void* find_function(const char* name) {
  void* const function = find_in_mpi(name);
  if (kKind != Kind::preparing || function != nullptr) return function;
  return find_in_mpi(("PMPIX" + std::string{name}.substr(4)).c_str());
}

template <Kind kKind, class... A>
int call(void* function, const Form& form, MPI_Comm comm, MPI_Request* request, A... arguments) {
  if constexpr (kKind == Kind::preparing)
    return reinterpret_cast<int (*)(A..., MPI_Comm, Info, MPI_Request*)>(function)(
        arguments..., comm, form.info, request);
  else if constexpr (kKind == Kind::starting)
    return reinterpret_cast<int (*)(A..., MPI_Comm, MPI_Request*)>(function)(arguments..., comm,
                                                                             request);
  else return reinterpret_cast<int (*)(A..., MPI_Comm)>(function)(arguments..., comm);
}

inline int raise_code(MPI_Comm comm, int code) {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

// Arrays of counts live as long as the call.
template <Kind kKind, class... A>
int call_narrow(void* function, const Form& form, MPI_Comm comm, Narrow<A>... narrow) {
  if (!(narrow.fits() && ...)) return raise_code(comm, MPI_ERR_COUNT);
  constexpr bool kHasArrays = (std::is_same_v<A, const Large*> || ...);
  auto run = [function, form, comm, ... arguments = std::move(narrow)](MPI_Request* request) {
    return call<kKind>(function, form, comm, request, arguments.get()...);
  };
  if constexpr (!kHasArrays || kKind == Kind::blocking) return run(form.request);
  else if constexpr (kKind == Kind::starting) return start_kept(comm, std::move(run), form.request);
  else return prepare_kept(std::move(run), form.request);
}

/// As many counts as a call on a communicator may have. @param is_local whether they are those of
/// its own group, and not of the group with which it communicates.
inline std::size_t ranks_of(MPI_Comm comm, bool is_local) {
  int inter = 0;
  int ranks = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter != 0 && !is_local) PMPI_Comm_remote_size(comm, &ranks);
  else PMPI_Comm_size(comm, &ranks);
  return static_cast<std::size_t>(ranks);
}

// The MPI's function with counts of this width, or null.
template <Name kName, class Count, Kind kKind>
void* function_of() {
  static constexpr auto kFull = full_name<kName, kKind>(std::is_same_v<Count, Large> ? "_c" : "");
  static void* const function = find_function<kKind>(kFull.data());
  return function;
}

template <Name kName, class Count, Kind kKind, class... A>
int find_and_call(const Form& form, MPI_Comm comm, A... arguments) {
  if (void* const function = function_of<kName, Count, kKind>())
    return call<kKind>(function, form, comm, form.request, arguments...);
  if constexpr (std::is_same_v<Count, Large>)
    if (void* const plain = function_of<kName, int, kKind>()) {
      const std::size_t ranks = ranks_of(comm, kName.view() == "reduce_scatter");
      return call_narrow<kKind, A...>(plain, form, comm, Narrow<A>{arguments, ranks}...);
    }
  return raise_code(comm, MPI_ERR_OTHER);
}

}  // namespace detail

/// @return the MPI's own collective that blocks, with counts of this width; null if it lacks that.
template <Name kName, class Count>
void* blocking_function() {
  return detail::function_of<kName, Count, detail::Kind::blocking>();
}

/// Runs, starts or prepares the MPI's own collective. Counts of Large take the function that ends
/// in _c, or the other one if the MPI lacks that; then the communicator's error handler gets a
/// count that is too large. Counts of a call that is not over then are kept as long as it lasts.
/// @tparam kName in small letters. @tparam Count of its counts. @param comm the last argument of a
/// call that blocks. @param arguments those before it.
template <Name kName, class Count, class... A>
int hand_on(const Form& form, MPI_Comm comm, A... arguments) {
  using detail::Kind;
  if (form.blocks())
    return detail::find_and_call<kName, Count, Kind::blocking>(form, comm, arguments...);
  if (form.is_prepared)
    return detail::find_and_call<kName, Count, Kind::preparing>(form, comm, arguments...);
  return detail::find_and_call<kName, Count, Kind::starting>(form, comm, arguments...);
}

}  // namespace tutti::dropin
