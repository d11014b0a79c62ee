/// @file
/// The flags of `tutti gradients` as typed values.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tutti/gradient_sync.hpp>

// CLI/CLI.hpp takes seconds to compile, so only the sources that use it include it.
namespace CLI {
class App;
}

namespace tutti::perf {

/// The computation that replaces the model's.
enum class Computing {
  work,  ///< Multiply-adds, which compete for cores as those of a model.
  sleep  ///< None; for machines whose ranks outnumber cores.
};

/// A measured combination of options of GradientSync.
struct GradientSetting {
  std::string label{};        ///< Such as "bucket_bytes 5M, views".
  GradientOptions options{};  ///< The options.
  bool is_predicted = false;  ///< Whether predict_buckets chooses bucket_bytes.
};

/// The values of the flags.
struct GradientsOptions {
  std::string model{};                      ///< A name of built_in_models, or a path.
  bool is_built_in = false;                 ///< Whether it is such a name.
  std::optional<double> compute_s{};        ///< Time of a step; nothing: that of the file.
  std::vector<GradientSetting> settings{};  ///< The product of all lists.
  std::vector<std::string> left_out{};      ///< Reasons why combinations are impossible.
  Computing computing = Computing::work;    ///< See Computing.
  std::size_t steps = 20;                   ///< Measured rounds.
  std::size_t warmup = 3;                   ///< Rounds before them.
  std::string transport{};                  ///< See InitOptions.
  double timeout_s = 60;                    ///< Deadline of an operation.
  std::string json{};                       ///< File of records; empty: none.
  std::string plot{};                       ///< Picture; empty: none.
  std::string html{};                       ///< Page; empty: none.
  std::string best{};                       ///< File for tutti::load_gradient_options.
  /// A command line that repeats the measurement, without output flags.
  std::vector<std::string> arguments{};
  /// The lists of the product; each entry changes a setting.
  std::array<std::vector<std::function<void(GradientSetting&)>>, 7> lists{};
};

/// Declares the flags. The parser of the command line stores their values in `options`, and throws
/// Failure{usage} for wrong ones.
void declare_gradients_flags(CLI::App& app, GradientsOptions& options);

/// Makes the settings, and checks flags that depend on each other. Throws Failure{usage}. @param
/// app the subcommand, parsed.
void complete(const CLI::App& app, GradientsOptions& options);

/// Makes settings with the same effect equal; for example, a first bucket has no effect if there is
/// only one. Also makes the label.
void normalize(GradientSetting& setting);
/// @param bytes of a bucket. @return as on the command line: "5M", or "flat".
[[nodiscard]] std::string bucket_text(std::size_t bytes);

}  // namespace tutti::perf
