// Orders recipes so that each comes after the recipes it is built with. `needs` must hold: a circle is an
// error that names it. `wants`, such as requirements at run time, only improve the order. Each is accepted in
// turn, unless it would close a circle with the edges so far, so wants never cause an error.
//
// The graph is by name over all variants, and the order of the input decides where nothing else does: equal
// inputs give equal plans.

#include "pipeline/plan/order.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace ptpkg::pipeline {
namespace {

/// Depth-first visit; `open_` holds the path from the start, to name a cycle.
class Orderer {
 public:
  explicit Orderer(std::span<const Buildable> items) : items_(items), done_(items.size()) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      by_name_[items[i].name].push_back(i);
      needs_[items[i].name].insert(items[i].needs.begin(), items[i].needs.end());
    }
    for (const Buildable& item : items) {
      for (const std::string& want : item.wants) {
        std::set<std::string> seen;
        if (Reaches(want, item.name, seen)) continue;
        needs_[item.name].insert(want);
        wants_[item.name].push_back(want);
      }
    }
  }

  Result<std::vector<std::size_t>> Run() {
    for (std::size_t i = 0; i < items_.size(); ++i) PTPKG_CHECK(Visit(i));
    return std::move(ordered_);
  }

 private:
  [[nodiscard]] bool Reaches(const std::string& from, const std::string& to,
                             std::set<std::string>& seen) const {
    if (from == to) return true;
    const auto needs = needs_.find(from);
    if (needs == needs_.end() || !seen.insert(from).second) return false;
    return std::any_of(needs->second.begin(), needs->second.end(),
                       [&](const std::string& need) { return Reaches(need, to, seen); });
  }

  Result<void> Visit(std::size_t index) {
    if (done_[index]) return Ok();
    const std::string& name = items_[index].name;
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the recipes require each other: {} → {}", fmt::join(open_, " → "), name));
    }
    open_.push_back(name);
    const std::vector<std::string>& wants = wants_[name];
    for (const auto* names : {&items_[index].needs, &wants}) {
      for (const std::string& need : *names) {
        const auto found = by_name_.find(need);
        if (found == by_name_.end() || need == name) continue;
        for (const std::size_t other : found->second) PTPKG_CHECK(Visit(other));
      }
    }
    open_.pop_back();
    done_[index] = true;
    ordered_.push_back(index);
    return Ok();
  }

  std::span<const Buildable> items_;
  std::vector<bool> done_;
  std::map<std::string, std::vector<std::size_t>> by_name_;
  std::map<std::string, std::set<std::string>> needs_;     // by name, with the wants that close no circle
  std::map<std::string, std::vector<std::string>> wants_;  // these alone
  std::vector<std::string> open_;
  std::vector<std::size_t> ordered_;
};

}  // namespace

Result<std::vector<std::size_t>> OrderByRequirements(std::span<const Buildable> items) {
  return Orderer(items).Run();
}

}  // namespace ptpkg::pipeline
