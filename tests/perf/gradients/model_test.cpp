// Models are what was published, and files of models are read or refused.
#include "perf/gradients/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "perf/failure.hpp"

namespace tutti::perf {
namespace {

struct Published {
  const char* name;
  std::size_t tensors;
  std::size_t elements;
};
constexpr Published kPublished[]{
    {"resnet50", 161, 25'557'032}, {"vgg16", 32, 138'357'544}, {"bert_base", 199, 109'482'240}};

TEST(GradientsModel, HasThePublishedNumberOfElements) {
  EXPECT_EQ(built_in_models().size(), std::size(kPublished));
  for (const Published& published : kPublished) {
    const Model model = built_in_model(published.name);
    EXPECT_EQ(model.tensors.size(), published.tensors) << published.name;
    EXPECT_EQ(model.elements(), published.elements) << published.name;
    EXPECT_EQ(model.bytes(), 4 * published.elements) << published.name;
    for (const Tensor& tensor : model.tensors)
      EXPECT_EQ(tensor.rows > 0 ? tensor.count % tensor.rows : 0, 0U) << tensor.name;
  }
}

TEST(GradientsModel, IsReadyFromTheLastTensorToTheFirstWithinBackward) {
  for (const Published& published : kPublished) {
    const Model model = with_times(built_in_model(published.name), 0.3);
    double before = 0.1;  // forward takes a third
    for (std::size_t i = model.tensors.size(); i-- > 0;) {
      EXPECT_GT(model.tensors[i].ready_s, before) << model.tensors[i].name;
      before = model.tensors[i].ready_s;
    }
    EXPECT_NEAR(before, 0.3, 1e-9) << published.name;
    EXPECT_EQ(model.arrivals().front(), model.tensors.size() - 1);
    EXPECT_EQ(model.arrivals().back(), 0U);
  }
}

TEST(GradientsModel, HasTheFullyConnectedHeadOfVggReadyAtOnce) {
  const Model model = with_times(built_in_model("vgg16"), 0.3);
  const auto head = std::ranges::find(model.tensors, "classifier.0.weight", &Tensor::name);
  ASSERT_NE(head, model.tensors.end());
  EXPECT_LT(head->ready_s, 0.11) << "it has 74 % of the elements and 1 % of the work";
}

TEST(GradientsModel, ReadsAModelAndATraceAlike) {
  const std::string own =
      R"({"compute_us": 2000, "parameters": [{"name": "a", "count": 6, "rows": 2, "ready_us": 1500},
          {"name": "b", "count": 1, "type": "f64", "ready_us": 2500}]})";
  for (const std::string& text : {own, R"({"traceEvents": [], "tutti": )" + own + "}"}) {
    const Model model = read_model(text, "m.json");
    EXPECT_EQ(model.name, "m.json");
    EXPECT_DOUBLE_EQ(model.compute_s, 0.002);
    ASSERT_EQ(model.tensors.size(), 2U);
    EXPECT_EQ(model.tensors[0].rows, 2U);
    EXPECT_DOUBLE_EQ(model.tensors[0].ready_s, 0.0015);
    EXPECT_EQ(model.tensors[1].type, Datatype::f64);
    EXPECT_DOUBLE_EQ(model.tensors[1].ready_s, 0.002) << "no later than computing ends";
    EXPECT_EQ(model.bytes(), 6 * 4 + 8U);
    EXPECT_DOUBLE_EQ(scaled_to(model, 0.004).tensors[0].ready_s, 0.003);
  }
}

TEST(GradientsModel, SaysWhatIsWrongWithAFile) {
  const auto with = [](const std::string& parameter) {
    return R"({"compute_us": 10, "parameters": [{"count": 1, "ready_us": 1}, )" + parameter + "]}";
  };
  const std::pair<std::string, std::string> cases[]{
      {"{", "it is not JSON: syntax error in line 1, column 2"},
      {"[]", "it is not a model"},
      {R"({"tutti": 3})", "it is not a model"},
      {R"({"parameters": [{"count": 1, "ready_us": 1}]})", "compute_us is missing"},
      {R"({"compute_us": 0, "parameters": [{"count": 1, "ready_us": 1}]})", "compute_us is 0"},
      {R"({"compute_us": 1, "parameters": []})", "no list of one parameter or more"},
      {R"({"compute_us": 1, "parameters": [{"count": 0, "ready_us": 1}]})", "are empty"},
      {with("7"), "parameters[1] is 7, expected an object"},
      {with(R"({"ready_us": 1})"), "parameters[1].count is missing"},
      {with(R"({"count": -4, "ready_us": 1})"), "parameters[1].count is -4, expected a whole"},
      {with(R"({"count": 1.5, "ready_us": 1})"), "parameters[1].count is 1.5"},
      {with(R"({"count": 9e99, "ready_us": 1})"), "parameters[1].count is 9e+99"},
      {with(R"({"count": 4})"), "parameters[1].ready_us is missing"},
      {with(R"({"count": 4, "ready_us": "x"})"), "ready_us is \"x\", expected microseconds"},
      {with(R"({"count": 4, "ready_us": -1})"), "ready_us is -1"},
      {with(R"({"count": 4, "rows": 3, "ready_us": 1})"), "does not divide its count, 4"},
      {with(R"({"count": 4, "type": "i8", "ready_us": 1})"), "type is \"i8\", expected"},
      {with(R"({"count": 4, "name": 8, "ready_us": 1})"), "parameters[1].name is no text"}};
  for (const auto& [text, said] : cases) try {
      static_cast<void>(read_model(text, "m.json"));
      ADD_FAILURE() << "taken: " << text;
    } catch (const Failure& failure) {
      const std::string what = failure.what();
      EXPECT_TRUE(what.starts_with("m.json: ")) << what;
      EXPECT_NE(what.find(said), what.npos) << what;
      EXPECT_EQ(failure.code(), ExitCode::usage);
    }
}

}  // namespace
}  // namespace tutti::perf
