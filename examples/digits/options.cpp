#include "options.hpp"

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace digits {

namespace {

// Sets one option. Returns false if there is none of that name and value.
bool set(Options& options, std::string_view name, const std::string& value) {
  if (name == "--storage") {
    options.views = value == "views";
    return options.views || value == "copies";
  }
  if (name == "--weights") options.weights = value;
  else if (name == "--epochs") options.epochs = std::stoi(value);
  else if (name == "--batch") options.batch = std::stoul(value);
  else if (name == "--train") options.train = std::stoul(value);
  else if (name == "--test") options.test = std::stoul(value);
  else if (name == "--rate") options.rate = std::stof(value);
  else if (name == "--bucket-bytes") options.bucket_bytes = std::stoul(value);
  else return false;
  return true;
}

}  // namespace

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; i += 2)
    if (i + 1 == count || !set(options, words[i], words[i + 1]))
      throw std::invalid_argument{
          "usage: [--epochs N] [--batch N] [--train N] [--test N] [--rate X] [--weights FILE] "
          "[--bucket-bytes N] [--storage copies|views]"};
  if (options.batch == 0 || options.batch > options.train || options.test == 0)
    throw std::invalid_argument{"a batch has one sample or more, and no more than there are"};
  return options;
}

void report(int epoch, double loss, std::size_t trained, std::size_t correct, std::size_t tested) {
  std::printf("epoch %d: loss %.6f, accuracy %.4f (%zu of %zu)\n", epoch,
              loss / static_cast<double>(trained),
              static_cast<double>(correct) / static_cast<double>(tested), correct, tested);
  std::fflush(stdout);
}

void finish(const Model& model, const Options& options) {
  double sum = 0;
  std::ofstream file;
  if (!options.weights.empty()) file.open(options.weights, std::ios::binary);
  for (const Tensor& tensor : model.tensors()) {
    for (const float value : tensor.values) sum += double{value} * double{value};
    file.write(reinterpret_cast<const char*>(tensor.values.data()),
               static_cast<std::streamsize>(tensor.values.size() * sizeof(float)));
  }
  std::printf("weights: sum of squares %.6f\n", sum);
  if (!options.weights.empty() && !file)
    throw std::runtime_error{"cannot write " + options.weights};
}

}  // namespace digits
