#include "pipeline/order.h"

#include <algorithm>
#include <fmt/format.h>

namespace ptpkg::pipeline {

namespace {

/// Depth-first visit; `open` holds the path from the start, to name a cycle.
class Orderer {
 public:
  explicit Orderer(std::vector<recipe::Recipe> recipes)
      : recipes_(std::move(recipes)), done_(recipes_.size()) {}

  Result<std::vector<recipe::Recipe>> Run() {
    for (std::size_t i = 0; i < recipes_.size(); ++i) PTPKG_CHECK(Visit(i));
    return std::move(ordered_);
  }

 private:
  Result<void> Visit(std::size_t index) {
    if (done_[index]) return Ok();
    const std::string& name = recipes_[index].name;
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the recipes require each other: {} → {}", fmt::join(open_, " → "), name));
    }
    open_.push_back(name);
    const recipe::Requirements& requirements = recipes_[index].requirements;
    for (const auto* specs : {&requirements.build, &requirements.host}) {
      for (const recipe::MatchSpec& spec : *specs) {
        for (std::size_t other = 0; other < recipes_.size(); ++other) {
          if (other != index && recipes_[other].name == spec.name) PTPKG_CHECK(Visit(other));
        }
      }
    }
    open_.pop_back();
    done_[index] = true;
    ordered_.push_back(recipes_[index]);
    return Ok();
  }

  std::vector<recipe::Recipe> recipes_;
  std::vector<bool> done_;
  std::vector<std::string> open_;
  std::vector<recipe::Recipe> ordered_;
};

}  // namespace

Result<std::vector<recipe::Recipe>> OrderByRequirements(std::vector<recipe::Recipe> recipes) {
  return Orderer(std::move(recipes)).Run();
}

}  // namespace ptpkg::pipeline
