/// @file
/// The flags of `tutti gradients`, read into what they mean.
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

/// What stands for the model's computing.
enum class Computing {
  work,  ///< Multiply-adds, which compete for cores as a model's do.
  sleep  ///< Nothing, for where ranks outnumber cores.
};

/// Options of GradientSync that are measured.
struct GradientSetting {
  std::string label{};        ///< Such as "bucket_bytes 5M, views".
  GradientOptions options{};  ///< All of them.
  bool is_predicted = false;  ///< Whether predict_buckets chooses, or has chosen, bucket_bytes.
};

/// The values of the flags.
struct GradientsOptions {
  std::string model{};                      ///< A name of built_in_models, or a path.
  bool is_built_in = false;                 ///< Which of them.
  std::optional<double> compute_s{};        ///< Of a step; nothing: as in the file.
  std::vector<GradientSetting> settings{};  ///< The product of all lists.
  std::vector<std::string> left_out{};      ///< Why combinations of them do not exist.
  Computing computing = Computing::work;    ///< See Computing.
  std::size_t steps = 20;                   ///< Rounds that count.
  std::size_t warmup = 3;                   ///< Rounds before them.
  std::string transport{};                  ///< See InitOptions.
  double timeout_s = 60;                    ///< Deadline of an operation.
  std::string json{};                       ///< File of records; empty: none.
  std::string plot{};                       ///< Picture.
  std::string html{};                       ///< Page.
  std::string best{};                       ///< File for tutti::load_gradient_options.
  /// A command line that repeats the measurement, without where results go.
  std::vector<std::string> arguments{};
  /// The lists of the product; each entry changes a setting.
  std::array<std::vector<std::function<void(GradientSetting&)>>, 7> lists{};
};

/// Declares the flags, which are read while a command line is parsed; what is wrong throws
/// Failure{usage} from there. @param app the subcommand. @param options get what the flags mean.
void declare_gradients_flags(CLI::App& app, GradientsOptions& options);

/// Makes the settings, and what else several flags say together. Throws Failure{usage}. @param app
/// the subcommand, parsed. @param options of it.
void complete(const CLI::App& app, GradientsOptions& options);

/// Entries that mean the same become equal, such as a first bucket where there is only one.
/// @param setting whose label is made anew.
void normalize(GradientSetting& setting);
/// @param bytes of a bucket. @return as on the command line: "5M", or "flat".
[[nodiscard]] std::string bucket_text(std::size_t bytes);

}  // namespace tutti::perf
