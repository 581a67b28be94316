#include "verify/elf/link_graph.h"

#include <array>
#include <fmt/core.h>

#include "verify/elf/elf_checks.h"

namespace ptpkg::verify {
namespace {

std::string DescribeRule(const ElfTree& tree, const LoadRule& rule) {
  switch (rule.kind) {
    case LoadRule::Kind::kLoaded:
      return "already loaded";
    case LoadRule::Kind::kPath:
      return "path in the name";
    case LoadRule::Kind::kRunpath:
      return fmt::format("RUNPATH {}", rule.entry);
    case LoadRule::Kind::kRpath:
      return fmt::format("RPATH {} of {}", rule.entry, tree.members[rule.holder].path.str());
  }
  return {};
}

}  // namespace

std::string_view NeedStateName(NeedState state) {
  static constexpr std::array<std::string_view, 5> kNames = {"found", "system", "dependency", "allowed",
                                                             "missing"};
  return kNames.at(static_cast<std::size_t>(state));
}

std::vector<FileLinks> ExplainLinks(const ElfTree& tree, const CheckOptions& options,
                                    const std::vector<std::string>& dependencies,
                                    const ResolvedLibraries& loads) {
  std::vector<FileLinks> links;
  for (std::size_t i = 0; i < tree.members.size(); ++i) {
    const ElfMember& member = tree.members[i];
    FileLinks file{.file = member.path.str()};
    if (const auto& path = member.facts.Effective()) file.tag = path->tag;
    file.search_path = ExplainSearchPath(tree, member, TokensOf(tree, member));
    for (const std::string& name : member.facts.needed) {
      const NeedOutcome& outcome = loads.Of(i, name);
      // Findings come from this function too, so the explanation never contradicts them.
      DependencyResolution verdict = ResolveDependency(tree, options, dependencies,
                                                       {.member = member, .name = name, .outcome = outcome});
      NeedLink need{.name = name, .state = verdict.state, .problem = std::move(verdict.problem)};
      for (const auto& [path, rule] : outcome.rules) {
        need.files.push_back({.path = path, .rule = DescribeRule(tree, rule)});
      }
      file.needed.push_back(std::move(need));
    }
    links.push_back(std::move(file));
  }
  return links;
}

}  // namespace ptpkg::verify
