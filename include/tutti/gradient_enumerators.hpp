/// @file
/// GradientSync: reduces the gradients of a model over ranks while others are still computed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// The order in which buckets are filled and reduced.
enum class GradientOrder : std::uint8_t {
  reversed,  ///< Parameters from last to first, the order of backward in most models.
  /// First reversed; from the second step on the order in which rank 0 had them ready in the first.
  observed,
  /// Buckets are filled as with reversed, and start when they are ready on all ranks, in any order;
  /// ranks find that out by a small all_reduce. For frameworks that compute gradients in another
  /// order on each rank (Sergeev, Del Balso, "Horovod", 2018).
  negotiated,
  /// Reversed with GradientStorage::views and flat and with GradientOptions::on_shard, since
  /// gradients may not move then; otherwise observed.
  automatic
};

/// The place of gradients.
enum class GradientStorage : std::uint8_t {
  /// The program's arrays; buckets are copies, in memory that peers see. See
  /// GradientOptions::in_place_bytes.
  copies,
  views,  ///< The buckets, at GradientSync::view. Not with GradientOrder::observed.
  /// One array of the program, with the parameters in their order and without gaps; buckets are
  /// parts of it. Not with GradientOrder::observed.
  flat
};

/// The treatment of unused gradients: neither ready nor accumulated was called for them since the
/// last step.
enum class UnusedGradients : std::uint8_t {
  error,  ///< The step ends in an Error that names one, on all ranks.
  zeros,  ///< They count as zeros.
  /// They count as zeros, and are unchanged if no rank of their group uses them;
  /// ReducedBucket::parameters then lacks them, and on_bucket is called when all buckets are
  /// reduced. Not with on_shard.
  detect
};

/// A value of one of these enumerations.
template <class E>
struct GradientEnumerator {
  E value;                ///< The value.
  std::string_view name;  ///< In files, on the command line and in error texts.
};

/// All values of GradientOrder.
inline constexpr std::array kGradientOrders{
    GradientEnumerator<GradientOrder>{GradientOrder::reversed, "reversed"},
    GradientEnumerator<GradientOrder>{GradientOrder::observed, "observed"},
    GradientEnumerator<GradientOrder>{GradientOrder::negotiated, "negotiated"},
    GradientEnumerator<GradientOrder>{GradientOrder::automatic, "automatic"}};
/// All values of GradientStorage.
inline constexpr std::array kGradientStorages{
    GradientEnumerator<GradientStorage>{GradientStorage::copies, "copies"},
    GradientEnumerator<GradientStorage>{GradientStorage::views, "views"},
    GradientEnumerator<GradientStorage>{GradientStorage::flat, "flat"}};
/// All values of UnusedGradients.
inline constexpr std::array kUnusedGradients{
    GradientEnumerator<UnusedGradients>{UnusedGradients::error, "error"},
    GradientEnumerator<UnusedGradients>{UnusedGradients::zeros, "zeros"},
    GradientEnumerator<UnusedGradients>{UnusedGradients::detect, "detect"}};

/// A format for GradientOptions::compression.
struct GradientCompression {
  std::string_view name;      ///< As in GradientOptions::compression.
  std::string_view argument;  ///< The name of the number that may follow a colon; empty: none may.
};
/// All formats.
inline constexpr std::array kGradientCompressions{
    GradientCompression{"f16", ""},           GradientCompression{"bf16", ""},
    GradientCompression{"int8", "BLOCK"},     GradientCompression{"one_bit", "BLOCK"},
    GradientCompression{"power_sgd", "RANK"}, GradientCompression{"top_k", "SHARE"}};

/// @return the table of an enumeration.
template <class E>
[[nodiscard]] constexpr std::span<const GradientEnumerator<E>> gradient_enumerators() noexcept {
  if constexpr (std::is_same_v<E, GradientOrder>) return kGradientOrders;
  else if constexpr (std::is_same_v<E, GradientStorage>) return kGradientStorages;
  else return std::span<const GradientEnumerator<E>>{kUnusedGradients};
}

/// @param value of GradientOrder, GradientStorage or UnusedGradients. @return its name; empty for
/// another value.
template <class E>
requires(std::is_same_v<E, GradientOrder> || std::is_same_v<E, GradientStorage> ||
         std::is_same_v<E, UnusedGradients>) [[nodiscard]] constexpr std::string_view
    name_of(E value) noexcept {
  for (const GradientEnumerator<E>& one : gradient_enumerators<E>())
    if (one.value == value) return one.name;
  return {};
}

/// @param name any text. @return the value of that name, or null.
template <class E>
[[nodiscard]] constexpr const GradientEnumerator<E>* find_gradient_enumerator(
    std::string_view name) noexcept {
  for (const GradientEnumerator<E>& one : gradient_enumerators<E>())
    if (one.name == name) return &one;
  return nullptr;
}

/// @param table of values that have names. @param last in front of the last name. @return the
/// names, such as "copies, views or flat".
template <class Table>
[[nodiscard]] std::string joined_names(const Table& table, std::string_view last = ", ") {
  std::string text;
  std::size_t left = std::size(table);
  for (const auto& one : table) {
    if (!text.empty()) text += left == 1 ? last : ", ";
    text += one.name;
    --left;
  }
  return text;
}

}  // namespace tutti::v0
