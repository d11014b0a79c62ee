// Reads models from files: traces of GradientSync, or the object at their key "tutti".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include <tutti/error.hpp>

#include "base/json_text.hpp"
#include "perf/failure.hpp"
#include "perf/gradients/model.hpp"

namespace tutti::perf {

namespace {

using ModelJson = nlohmann::json;

constexpr std::size_t kMostElements = std::size_t{1} << 40;  // no sum of bytes overflows
constexpr std::size_t kMostTensors = std::size_t{1} << 20;
constexpr std::array kGradientTypes{Datatype::f16, Datatype::bf16, Datatype::f32, Datatype::f64};

// Reads the values of one file. Errors name their key.
class ModelReader {
 public:
  explicit ModelReader(const std::string& path) : path_{path} {}

  [[noreturn]] void reject(const std::string& what) const {
    throw Failure{ExitCode::usage, fmt::format("{}: {}", path_, what)};
  }

  [[nodiscard]] ModelJson parse(const std::string& text) const {
    try {
      return detail::parse_json<ModelJson>(text);
    } catch (const Error& error) {
      reject(error.what());
    }
  }

  [[nodiscard]] double microseconds(const ModelJson& object, const std::string& key,
                                    const std::string& name) const {
    const ModelJson& value = member(object, key, name);
    const double time = value.is_number() ? value.get<double>() : -1;
    if (!(time >= 0) || time > 3.6e9)
      reject(fmt::format("{} is {}, expected microseconds, 0 or more", name, shown(value)));
    return time;
  }

  [[nodiscard]] std::size_t number(const ModelJson& object, const std::string& key,
                                   const std::string& name) const {
    const ModelJson& value = member(object, key, name);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMostElements)
      reject(fmt::format("{} is {}, expected a whole number in 0 .. {}", name, shown(value),
                         kMostElements));
    return value.get<std::size_t>();
  }

  [[nodiscard]] Tensor tensor(const ModelJson& object, std::size_t index) const {
    const std::string name = fmt::format("parameters[{}]", index);
    if (!object.is_object())
      reject(fmt::format(R"({} is {}, expected an object {{"name", "count", "ready_us"}})", name,
                         shown(object)));
    Tensor tensor{.name = name};
    if (object.contains("name")) {
      if (!object["name"].is_string()) reject(name + ".name is no text");
      tensor.name = object["name"];
    }
    tensor.count = number(object, "count", name + ".count");
    if (object.contains("rows")) tensor.rows = number(object, "rows", name + ".rows");
    if (tensor.rows > 0 && tensor.count % tensor.rows != 0)
      reject(fmt::format("{}.rows is {}, which does not divide its count, {}", name, tensor.rows,
                         tensor.count));
    if (object.contains("type")) tensor.type = type(object["type"], name);
    tensor.ready_s = microseconds(object, "ready_us", name + ".ready_us") / 1e6;
    return tensor;
  }

 private:
  [[nodiscard]] static std::string shown(const ModelJson& value) {
    const std::string text = detail::text_of_json(value);
    return text.size() <= 40 ? text : text.substr(0, 37) + "...";
  }
  [[nodiscard]] const ModelJson& member(const ModelJson& object, const std::string& key,
                                        const std::string& name) const {
    if (!object.contains(key)) reject(name + " is missing");
    return object.at(key);
  }
  [[nodiscard]] Datatype type(const ModelJson& value, const std::string& name) const {
    for (const Datatype type : kGradientTypes)
      if (value.is_string() && value.get<std::string>() == name_of(type)) return type;
    reject(fmt::format("{}.type is {}, expected \"f16\", \"bf16\", \"f32\" or \"f64\"", name,
                       shown(value)));
  }

  const std::string& path_;
};

}  // namespace

Model read_model(const std::string& text, const std::string& path) {
  const ModelReader reader{path};
  const ModelJson file = reader.parse(text);
  const ModelJson& root = file.is_object() && file.contains("tutti") ? file["tutti"] : file;
  if (!root.is_object() || !root.contains("parameters"))
    reader.reject(R"(it is not a model: expected output of GradientSync::write_trace, or )"
                  R"({"compute_us": .., "parameters": [{"name", "count", "ready_us"}, ..]})");
  const ModelJson& parameters = root["parameters"];
  if (!parameters.is_array() || parameters.empty() || parameters.size() > kMostTensors)
    reader.reject("parameters is no list of one parameter or more");
  Model model{.name = path,
              .compute_s = reader.microseconds(root, "compute_us", "compute_us") / 1e6};
  if (model.compute_s <= 0) reader.reject("compute_us is 0, expected the time of a step");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    model.tensors.push_back(reader.tensor(parameters[i], i));
    // Times are medians of several steps, taken one by one, so one can lie after the end.
    Tensor& last = model.tensors.back();
    last.ready_s = std::min(last.ready_s, model.compute_s);
  }
  if (model.elements() == 0) reader.reject("all parameters are empty");
  if (model.elements() > kMostElements)
    reader.reject(fmt::format("there are more than {} elements", kMostElements));
  return model;
}

}  // namespace tutti::perf
