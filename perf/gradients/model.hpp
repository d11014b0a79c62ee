/// @file
/// The input of `tutti gradients`: the arrays of a model, and the times at which their gradients
/// are ready.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/types.hpp>

namespace tutti::perf {

/// An array of a model, whose gradient is reduced.
struct Tensor {
  std::string name{};             ///< Name in its framework.
  std::size_t count = 0;          ///< Elements.
  std::size_t rows = 0;           ///< Rows of a matrix; 0: it is a vector.
  Datatype type = Datatype::f32;  ///< Element type.
  double work = 0;                ///< Work of backward for it, in any unit.
  double ready_s = 0;             ///< Time from the start of the step until its gradient is ready.
};

/// A model, and the time of computing one step.
struct Model {
  std::string name{};             ///< Its name, or the name of its file.
  std::vector<Tensor> tensors{};  ///< In the order in which forward uses them.
  double compute_s = 0;           ///< Time of forward and backward together.

  /// @return elements of all tensors.
  [[nodiscard]] std::size_t elements() const noexcept;
  /// @return bytes of all tensors.
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// @return indices of tensors in the order in which their gradients become ready.
  [[nodiscard]] std::vector<std::size_t> arrivals() const;
};

/// @return the names that built_in_model accepts.
[[nodiscard]] std::vector<std::string> built_in_models();

/// @param name one of built_in_models. @return the model as it was published, with the work of
/// backward per tensor, and without times.
[[nodiscard]] Model built_in_model(std::string_view name);

/// Computes times: forward takes the first third of a step, backward the rest. Backward goes from
/// the last tensor to the first, and each takes its share of the work. @param model whose tensors
/// have work. @param compute_s time of a step.
[[nodiscard]] Model with_times(Model model, double compute_s);

/// Scales all times of a model such that its step takes compute_s.
[[nodiscard]] Model scaled_to(Model model, double compute_s);

/// Reads a file of GradientSync::write_trace, or only the object at its key "tutti". Throws
/// Failure{usage} that names the file and the fault. @param text of the file. @param path for
/// errors. @return the model with its times.
[[nodiscard]] Model read_model(const std::string& text, const std::string& path);

}  // namespace tutti::perf
