// Rendered packages are each valid alone, and can still contradict each other. These checks need all of them:
//
// - Two packages with one file name would overwrite each other. The cause decides the message: two outputs of
//   one variant, or two variants whose build string lacks the hash. Names that wait for tools (detected())
//   are compared later, by DetectInBuildStrings.
// - `extra.ptpkg.outputs` may only name outputs that exist in some variant, inherited staging outputs
//   included.
// - Outputs must not need each other in a circle. The graph is by name, over all variants together.

#include "variant/rendered_checks.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <set>

#include "support/text/text.h"

namespace ptpkg::variant {

namespace {

bool HasOutputs(const recipe::Document& document) { return document.root.Find("outputs") != nullptr; }

/// Two packages with one file name would overwrite each other.
Result<void> CheckNames(const recipe::Document& document, const std::vector<recipe::Recipe>& recipes) {
  std::map<std::string, const recipe::Recipe*> names;
  for (const recipe::Recipe& recipe : recipes) {
    // Names that contain versions of tools are compared when these are known.
    if (recipe.skip || !recipe.detects.empty()) continue;
    const auto [at, added] = names.emplace(recipe.subdir + "/" + recipe.FileStem(), &recipe);
    if (added) continue;
    if (at->second->variant == recipe.variant && HasOutputs(document)) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("two outputs would both be named '{}'", recipe.FileStem()))
          .At(document.root.Find("outputs")->span)
          .WithHint("give them different names or build strings, or set 'build.skip' for all but one");
    }
    const recipe::Node* build = document.root.Find("build");
    const recipe::Node* string = build == nullptr ? nullptr : build->Find("string");
    return Error(ErrorCode::kInvalidInput, fmt::format("the variants '{}' and '{}' would both be named '{}'",
                                                       DescribeVariant(at->second->variant),
                                                       DescribeVariant(recipe.variant), recipe.FileStem()))
        .At(string != nullptr ? string->span : document.root.span)
        .WithHint("put ${{ hash }} into 'build.string'");
  }
  return Ok();
}

/// extra.ptpkg.outputs names outputs by their name in some variant.
Result<void> CheckExtraOutputs(const recipe::Document& document, const std::vector<recipe::Recipe>& recipes) {
  const recipe::Node* extra = document.root.Find("extra");
  const recipe::Node* ptpkg = extra == nullptr ? nullptr : extra->Find("ptpkg");
  const recipe::Node* outputs = ptpkg == nullptr ? nullptr : ptpkg->Find("outputs");
  if (outputs == nullptr) return Ok();
  std::set<std::string> names;
  for (const recipe::Recipe& recipe : recipes) {
    for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get())
      names.insert(part->name);
  }
  for (const recipe::Entry& entry : outputs->entries) {
    if (names.contains(entry.key)) continue;
    Error error =
        Error(ErrorCode::kInvalidInput, fmt::format("there is no output '{}'", entry.key)).At(entry.key_span);
    const std::vector<std::string> known(names.begin(), names.end());
    const std::optional<std::string> nearest = NearestMatch(entry.key, known);
    return nearest ? std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest))
                   : std::move(error).WithHint(fmt::format("the outputs are {}", Join(known, ", ")));
  }
  return Ok();
}

/// Name → names that it is built with, over all variants.
using Needs = std::map<std::string, std::set<std::string>>;

Needs NeedsOf(const std::vector<recipe::Recipe>& recipes) {
  Needs needs;
  for (const recipe::Recipe& recipe : recipes) {
    std::set<std::string>& names = needs[recipe.name];
    for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
      for (const auto* specs : {&part->requirements.build, &part->requirements.host}) {
        for (const recipe::MatchSpec& spec : *specs) {
          if (spec.name != recipe.name) names.insert(spec.name);
        }
      }
    }
  }
  return needs;
}

/// Prolongs `way` until it ends where it began. `dead`: from there is no way back.
bool FindWayBack(const Needs& needs, std::vector<std::string>& way, std::set<std::string>& dead) {
  const auto from = needs.find(way.back());
  if (from == needs.end()) return false;
  for (const std::string& name : from->second) {
    const bool closed = name == way.front();
    if (!closed && !dead.insert(name).second) continue;
    way.push_back(name);
    if (closed || FindWayBack(needs, way, dead)) return true;
    way.pop_back();
  }
  return false;
}

/// No output may be built with one that is built with it.
Result<void> CheckOrder(const std::vector<recipe::OutputDocument>& outputs, const Needs& needs) {
  for (const auto& [name, unused] : needs) {
    // `dead` is new for each start: a name that leads nowhere from here can be on another circle.
    std::vector<std::string> way = {name};
    std::set<std::string> dead;
    if (!FindWayBack(needs, way, dead)) continue;
    const auto item = std::find_if(outputs.begin(), outputs.end(), [&, &found = name](const auto& output) {
      return WrittenName(output) == found;
    });
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the outputs require each other: {}", Join(way, " → ")))
        .At(item == outputs.end() ? outputs.front().span : item->span)
        .WithHint("build the shared part in a staging output that both inherit");
  }
  return Ok();
}

}  // namespace

std::string DescribeVariant(const std::map<std::string, std::string>& variant) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : variant) {
    if (key != "target_platform") parts.push_back(fmt::format("{}={}", key, value));
  }
  return Join(parts, ", ");
}

std::string WrittenName(const recipe::OutputDocument& output) {
  const recipe::Node* package = output.document.root.Find("package");
  const recipe::Node* name = package == nullptr ? nullptr : package->Find("name");
  return name == nullptr ? "" : name->raw;
}

Result<void> CheckRendered(const recipe::Document& document,
                           const std::vector<recipe::OutputDocument>& outputs,
                           const std::vector<recipe::Recipe>& all,
                           const std::vector<recipe::Recipe>& selected) {
  PTPKG_CHECK(CheckNames(document, selected));
  PTPKG_CHECK(CheckExtraOutputs(document, all));
  return HasOutputs(document) ? CheckOrder(outputs, NeedsOf(selected)) : Ok();
}

}  // namespace ptpkg::variant
