// The layers of networks, with gradients written by hand.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data.hpp"

namespace digits {

// Learned values of a layer, such as weights and biases, or other values that it stores, such as
// means.
struct Tensor {
  std::string name{};
  std::vector<float> values{};
  std::size_t rows = 0;                // of a matrix
  std::vector<float> gradient_here{};  // memory of the gradient, unless it is elsewhere
  std::span<float> gradient{};
  std::vector<float> velocity{};
};

// The data between layers: for each sample, channels of square images.
struct Shape {
  std::size_t channels = 1;
  std::size_t side = 1;

  [[nodiscard]] std::size_t size() const { return channels * side * side; }
};

class Layer {
 public:
  Layer(Shape in, Shape out) : in_{in}, out_{out} {}
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer() = default;
  [[nodiscard]] Shape out() const { return out_; }
  // Learned arrays, last one first: the order in which their gradients are complete.
  [[nodiscard]] virtual std::vector<Tensor*> learned() { return {}; }
  // Other arrays that training stores.
  [[nodiscard]] virtual std::vector<Tensor*> remembered() { return {}; }
  virtual void forward(std::span<const float> in, std::span<float> out, std::size_t samples,
                       bool is_training) = 0;
  // From the gradient of the loss by outputs: adds to the gradients of learned arrays, and stores
  // the gradient by inputs in `below`, unless that is empty.
  virtual void backward(std::span<const float> in, std::span<const float> out,
                        std::span<const float> above, std::span<float> below,
                        std::size_t samples) = 0;

 protected:
  [[nodiscard]] Shape in() const { return in_; }

 private:
  Shape in_, out_;
};

// Connects all inputs to all outputs.
[[nodiscard]] std::unique_ptr<Layer> make_dense(Shape in, std::size_t out, Random random,
                                                const std::string& name);
// Negative numbers become zeros.
[[nodiscard]] std::unique_ptr<Layer> make_rectifier(Shape in);
// Sums over 3 x 3 neighbours, of all channels.
[[nodiscard]] std::unique_ptr<Layer> make_convolution(Shape in, std::size_t channels, Random random,
                                                      const std::string& name);
// The largest of 2 x 2.
[[nodiscard]] std::unique_ptr<Layer> make_pooling(Shape in);
// Values of a channel get mean 0 and variance 1 over the batch, then a learned scale and offset
// (Ioffe, Szegedy, ICML 2015). The layer stores means and variances of the last batches.
[[nodiscard]] std::unique_ptr<Layer> make_batch_norm(Shape in, const std::string& name);

}  // namespace digits
