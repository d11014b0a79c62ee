/// @file
/// What `tutti gradients` replays: the arrays of a model, and when in a step their gradients are
/// ready.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/types.hpp>

namespace tutti::perf {

/// An array of a model, whose gradient is reduced.
struct Tensor {
  std::string name{};             ///< As the framework calls it.
  std::size_t count = 0;          ///< Elements.
  std::size_t rows = 0;           ///< Of the matrix that it is; 0: it is a vector.
  Datatype type = Datatype::f32;  ///< Of the elements.
  double work = 0;                ///< What backward computes for it, in any unit.
  double ready_s = 0;             ///< When its gradient is ready, after the step began.
};

/// A model, and the time that one step of it computes.
struct Model {
  std::string name{};             ///< Its own, or that of its file.
  std::vector<Tensor> tensors{};  ///< In the order in which forward uses them.
  double compute_s = 0;           ///< Of forward and backward together.

  /// @return elements of all tensors.
  [[nodiscard]] std::size_t elements() const noexcept;
  /// @return bytes of all tensors.
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// @return indices of tensors in the order in which their gradients are ready.
  [[nodiscard]] std::vector<std::size_t> arrivals() const;
};

/// @return names of the models that built_in_model makes.
[[nodiscard]] std::vector<std::string> built_in_models();

/// @param name one of built_in_models. @return the model as it was published, with the work of
/// backward by tensor; its time is not set.
[[nodiscard]] Model built_in_model(std::string_view name);

/// Gives forward the first third of a step and backward the rest, from the last tensor to the
/// first, each as long as its share of the work.
/// @param model whose tensors have work. @param compute_s of a step. @return it with times.
[[nodiscard]] Model with_times(Model model, double compute_s);

/// Makes all times of a model longer or shorter by the same factor.
/// @param model with times. @param compute_s what its step is to take. @return it.
[[nodiscard]] Model scaled_to(Model model, double compute_s);

/// Reads what GradientSync::write_trace wrote, or only the object that stands at its key "tutti".
/// Throws Failure{usage} that names the file and what is wrong there.
/// @param text of the file. @param path of it. @return the model with its times.
[[nodiscard]] Model read_model(const std::string& text, const std::string& path);

}  // namespace tutti::perf
