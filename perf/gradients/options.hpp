/// @file
/// The flags of `tutti gradients`: as written, and as understood.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <tutti/gradient_sync.hpp>

// CLI/CLI.hpp takes seconds to compile, so only the sources that use it include it.
namespace CLI {
class App;
}

namespace tutti::perf {

/// The flags as written; an empty string is a flag that was not given.
struct GradientsFlags {
  std::string model;
  std::string compute;
  std::string bucket_bytes = "0,1M,5M,25M,flat,predicted";
  std::string first_bucket_bytes = "1M";
  std::string storage = "copies,views";
  std::string compression = "none";
  std::string algorithms = "auto";
  std::string order = "reversed";
  std::string in_flight = "2";
  std::string computing = "work";
  std::string steps = "20";
  std::string warmup = "3";
  std::string transport = "auto";
  std::string timeout = "60s";
  std::string json;
  std::string plot;
  std::string html;
  std::string settings;
};

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

/// The flags as understood.
struct GradientsOptions {
  std::string model{};                      ///< A name of built_in_models, or a path.
  bool is_built_in = false;                 ///< Which of them.
  std::optional<double> compute_s{};        ///< Of a step; nothing: as the file says.
  std::vector<GradientSetting> settings{};  ///< The product of all lists.
  std::vector<std::string> left_out{};      ///< Why combinations of them do not exist.
  Computing computing = Computing::work;    ///< See Computing.
  std::size_t steps = 20;                   ///< Rounds that count.
  std::size_t warmup = 3;                   ///< Rounds before them.
  std::string transport{};                  ///< See InitOptions.
  double timeout_s = 60;                    ///< Deadline of an operation.
};

/// Declares the flags. @param app the subcommand. @param flags filled when it is parsed.
void declare_gradients_flags(CLI::App& app, GradientsFlags& flags);

/// Understands the flags. Throws Failure{usage}. @param flags as written. @return as understood.
[[nodiscard]] GradientsOptions understand(const GradientsFlags& flags);

/// @param flags as written. @return a command line that repeats the measurement, without where
/// results go.
[[nodiscard]] std::vector<std::string> repeat_arguments(const GradientsFlags& flags);

/// Entries that mean the same become equal, such as a first bucket where there is only one.
/// @param setting whose label is made anew.
void normalize(GradientSetting& setting);
/// @param bytes of a bucket. @return as on the command line: "5M", or "flat".
[[nodiscard]] std::string bucket_text(std::size_t bytes);

}  // namespace tutti::perf
