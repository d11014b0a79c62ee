/// @file
/// The output of `tutti gradients`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "perf/gradients/model.hpp"
#include "perf/gradients/options.hpp"
#include "perf/gradients/verdict.hpp"
#include "perf/sweep/context.hpp"

namespace tutti::perf {

/// @param options how. @return the lines above the table.
[[nodiscard]] std::string gradients_header(const Context& context, const Model& model,
                                           const GradientsOptions& options);
/// @param verdict the outcome. @param wanted_s what a step computes on a machine that does nothing
/// else; nothing where it sleeps. @return the table and what it comes to.
[[nodiscard]] std::string gradients_table(const GradientVerdict& verdict,
                                          std::optional<double> wanted_s);

/// @param options how. @return the first JSON record.
[[nodiscard]] nlohmann::ordered_json gradients_record(const Context& context, const Model& model,
                                                      const GradientsOptions& options);
/// @param verdict the outcome. @param index of a setting's result. @return its JSON record.
[[nodiscard]] nlohmann::ordered_json gradients_record(const GradientVerdict& verdict,
                                                      std::size_t index);
/// @param verdict the outcome. @param is_interrupted whether rounds are missing.
/// @return the last JSON record.
[[nodiscard]] nlohmann::ordered_json gradients_summary(const GradientVerdict& verdict,
                                                       bool is_interrupted);

}  // namespace tutti::perf
