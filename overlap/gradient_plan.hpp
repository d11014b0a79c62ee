/// @file
/// The assignment of parameters to buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tutti/gradient_sync.hpp>

namespace tutti::v0::detail {

/// The location of a parameter.
struct ParameterLocation {
  std::size_t bucket = 0;
  std::size_t offset = 0;  ///< Bytes from the bucket's beginning.
};

/// Parameters that are reduced together. All have one type and one group.
struct Bucket {
  std::vector<std::size_t> parameters{};  ///< In the order in which they lie.
  Datatype type{};
  std::uint32_t group = 0;
  std::size_t count = 0;     ///< Elements.
  bool is_in_place = false;  ///< Whether it is a parameter's own memory.
};

/// A pure function of the parameters, the options and an order.
struct GradientPlan {
  std::vector<Bucket> buckets{};               ///< In the order in which they start.
  std::vector<ParameterLocation> locations{};  ///< By parameter.
  std::vector<std::size_t> order{};            ///< The order of parameters that it was made from.
  /// By parameter: its own index, or that of the parameter to which it is tied, which alone is in a
  /// bucket.
  std::vector<std::size_t> owners{};
  std::vector<std::uint32_t> names{};  ///< By parameter in a bucket: 1 + parameters tied to it.
  std::uint64_t hash = 0;              ///< Hash of the plan.
};

/// The parameters that may be buckets in their own memory, see GradientOptions::in_place_bytes.
enum class InPlace : std::uint8_t { none, visible, all };

/// @param parameters of the model. @param options see GradientOptions. @param order of parameters
/// in buckets, and of buckets. @param in_place which parameters may be buckets by themselves.
/// @return the plan.
[[nodiscard]] GradientPlan make_plan(std::span<const Parameter> parameters,
                                     const GradientOptions& options,
                                     std::span<const std::size_t> order, InPlace in_place);

/// @param options see GradientOptions. @return the order, with automatic replaced.
[[nodiscard]] GradientOrder order_of(const GradientOptions& options) noexcept;

/// Throws Error{invalid_argument} for errors that one rank finds by itself.
void check_parameters(std::span<const Parameter> parameters, const GradientOptions& options);
/// Throws Error{invalid_argument} for unknown values of enumerations.
void check_enumerators(const GradientOptions& options);
/// The beginning of a line about an option.
inline const std::string kOptionLine = "option ";
/// @return the text of save_gradient_options, a line for each option.
[[nodiscard]] std::string lines_of(const GradientOptions& options);
/// @return the text that ranks compare, a line for each option and each parameter.
[[nodiscard]] std::string describe(std::span<const Parameter> parameters,
                                   const GradientOptions& options);
/// Compares descriptions of ranks. Collective. @param describe returns that of this rank, in lines;
/// if it throws an Error, its text is compared. Throws Error{invalid_argument} on all ranks if one
/// differs, with the first line that does, or all options that do; if all are equal, what describe
/// threw.
TUTTI_API void compare(Communicator& world, const std::function<std::string()>& describe);

/// Compares arrays of ranks. Collective. @param arrays of this rank. @param groups number of groups
/// beside that of all ranks. @param check rejects arrays for other reasons. Throws
/// Error{invalid_argument} as compare and check, and for an array of no group.
TUTTI_API void compare_arrays(Communicator& world, std::span<const Parameter> arrays,
                              std::size_t groups, const std::function<void()>& check = {});

}  // namespace tutti::v0::detail
