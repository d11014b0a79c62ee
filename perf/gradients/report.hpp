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

/// @return the lines above the table.
[[nodiscard]] std::string gradients_header(const Context& context, const Model& model,
                                           const GradientsOptions& options);
/// @param wanted_s time of computing on an undisturbed machine; nothing if the step sleeps. @return
/// the table and its summary.
[[nodiscard]] std::string gradients_table(const GradientVerdict& verdict,
                                          std::optional<double> wanted_s);

/// @return the first JSON record.
[[nodiscard]] nlohmann::ordered_json gradients_record(const Context& context, const Model& model,
                                                      const GradientsOptions& options);
/// @return the JSON record of one setting.
[[nodiscard]] nlohmann::ordered_json gradients_record(const GradientVerdict& verdict,
                                                      std::size_t index);
/// @param is_interrupted whether rounds are missing. @return the last JSON record.
[[nodiscard]] nlohmann::ordered_json gradients_summary(const GradientVerdict& verdict,
                                                       bool is_interrupted);

}  // namespace tutti::perf
