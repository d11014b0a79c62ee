// A network of three layers, 256-128-64-10, with its gradients written by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data.hpp"

namespace digits {

// What is learned: weights or biases of a layer.
struct Tensor {
  std::string name{};
  std::vector<float> values{};
  std::vector<float> gradient_here{};  // where the gradient lies, unless it is put elsewhere
  std::span<float> gradient{};
  std::vector<float> velocity{};
};

class Model {
 public:
  explicit Model(std::uint64_t seed);
  Model(const Model&) = delete;  // spans point into it
  Model& operator=(const Model&) = delete;

  [[nodiscard]] std::vector<Tensor>& tensors() { return tensors_; }
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }

  // What the network says to samples, which backward takes then. Returns the sum of their losses.
  double forward(const Samples& samples);
  // Computes the gradient of the sum of losses divided by `batch`, last layer first. It calls
  // on_gradient(i) as soon as tensor i's gradient is done, and does not touch it afterwards.
  void backward(const Samples& samples, std::size_t batch,
                const std::function<void(std::size_t)>& on_gradient);
  // How many digits it reads well.
  [[nodiscard]] std::size_t correct(const Samples& samples);
  // A step of gradient descent with momentum.
  void update(float rate, float momentum = 0.9F);

 private:
  std::vector<Tensor> tensors_{};
  std::vector<std::vector<float>> outputs_{};  // the samples, and what each layer makes of them
};

}  // namespace digits
