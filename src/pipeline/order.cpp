#include "pipeline/order.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace ptpkg::pipeline {
namespace {

/// Depth-first visit; `open_` holds the path from the start, to name a cycle.
class Orderer {
 public:
  explicit Orderer(std::span<const Buildable> items) : items_(items), done_(items.size()) {
    for (std::size_t i = 0; i < items.size(); ++i) by_name_[items[i].name].push_back(i);
  }

  Result<std::vector<std::size_t>> Run() {
    for (std::size_t i = 0; i < items_.size(); ++i) PTPKG_CHECK(Visit(i));
    return std::move(ordered_);
  }

 private:
  Result<void> Visit(std::size_t index) {
    if (done_[index]) return Ok();
    const std::string& name = items_[index].name;
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the recipes require each other: {} → {}", fmt::join(open_, " → "), name));
    }
    open_.push_back(name);
    for (const std::string& need : items_[index].needs) {
      const auto found = by_name_.find(need);
      if (found == by_name_.end() || need == name) continue;
      for (const std::size_t other : found->second) PTPKG_CHECK(Visit(other));
    }
    open_.pop_back();
    done_[index] = true;
    ordered_.push_back(index);
    return Ok();
  }

  std::span<const Buildable> items_;
  std::vector<bool> done_;
  std::map<std::string, std::vector<std::size_t>> by_name_;
  std::vector<std::string> open_;
  std::vector<std::size_t> ordered_;
};

}  // namespace

Result<std::vector<std::size_t>> OrderByRequirements(std::span<const Buildable> items) {
  return Orderer(items).Run();
}

}  // namespace ptpkg::pipeline
