// The order follows from the inputs. First everything that the artifact declares: dependencies, platform, and
// its note. Then one simulation of ld.so, whose outcomes several checks share. Then the checks, and at the
// end the requirements of each file, which are compared with the declared platform.

#include "verify/rules/tree_checks.h"

#include "verify/elf/device_code_checks.h"
#include "verify/elf/dlopen_checks.h"
#include "verify/elf/elf_checks.h"
#include "verify/elf/link_graph.h"
#include "verify/elf/load_checks.h"
#include "verify/elf/module_checks.h"
#include "verify/elf/runtime_checks.h"
#include "verify/elf/symbol_checks.h"
#include "verify/rules/dependency_consistency.h"
#include "verify/rules/minimum_version_checks.h"
#include "wheel/metadata/core_metadata.h"

namespace ptpkg::verify {

namespace {

/// The options decide; else the package, in whichever of its notes.
Result<versions::DeviceCodeRequest> DeviceCodeAskedFor(const CheckOptions& options, const PackageNote& note) {
  if (!options.device_code.empty()) return versions::DeviceCodeRequest::Parse(options.device_code);
  const bool in_info = !options.device_code_of_package.empty();
  return versions::DeviceCodeRequest::Parse(in_info ? options.device_code_of_package : note.device_code);
}

}  // namespace

Result<void> CheckElfFiles(Env& env, const ElfSubject& subject, const CheckOptions& options,
                           Examination& examination) {
  std::vector<Finding>& findings = examination.report.findings;
  PTPKG_TRY(const PlatformPolicies policies, PlatformPolicies::BuiltIn());
  PTPKG_TRY(const PolicyLibraries libraries, PolicyLibraries::BuiltIn());
  PTPKG_TRY(const DlopenTable opened, DlopenTable::BuiltIn());
  ElfTree own;
  if (subject.tree == nullptr) {
    PTPKG_TRY(own, ReadElfTree(env, subject.root, opened, findings, options.on_file));
  }
  const ElfTree& tree = subject.tree == nullptr ? own : *subject.tree;
  PTPKG_TRY(std::vector<std::string> dependencies, DeclaredDependencies(env, tree));
  for (const std::string& name : options.dependencies) dependencies.push_back(wheel::NormalizeName(name));

  DeclaredPlatform promised;
  if (subject.promise) {
    promised = *subject.promise;
  } else {
    PTPKG_TRY(promised, DeclaredByTree(env, tree, policies));
  }
  // A copy, because the package's own note allows more names than the options do.
  CheckOptions allowing = options;
  PTPKG_TRY(const PackageNote note, ReadNotes(env, tree, subject.notes, findings));
  allowing.allowed_by_package.insert(allowing.allowed_by_package.end(), note.allow_unresolved.begin(),
                                     note.allow_unresolved.end());
  PTPKG_TRY(const ResolvedLibraries loads, ResolvedLibraries::SimulateLoads(env, tree, promised.isa));

  CheckNeeded(tree, allowing, dependencies, loads, findings);
  CheckSearchPaths(tree, options, findings);
  CheckDependencyConsistency(tree, loads, findings);
  CheckFlags(tree, findings);
  CheckMapping(tree, loads, findings);
  PTPKG_CHECK(CheckRuntimes(tree, promised, allowing, findings));
  CheckModules(tree, loads, findings);
  CheckSymbols({.tree = tree, .loads = loads, .dependencies = dependencies}, findings);
  CheckDlopened(tree, opened, allowing, dependencies, findings);

  if (options.links) examination.links = ExplainLinks(tree, allowing, dependencies, loads);

  PTPKG_TRY(examination.asked, DeviceCodeAskedFor(options, note));
  CheckDeviceCode(tree.device_code, examination.asked, findings);
  for (const FileDeviceCode& file : tree.device_code) {
    if (file.problem.empty()) examination.device_code.push_back(file);
  }

  examination.files = MeasureNeeds(tree, policies, libraries);
  for (std::size_t i = 0; i < tree.members.size(); ++i) {
    for (const std::string& name : tree.members[i].facts.needed) {
      examination.files[i].needed[name] = loads.Of(i, name).found;
    }
  }
  PTPKG_CHECK(CheckMinimumVersions({.env = env, .tree = tree, .policies = policies, .promise = promised},
                                   examination.files, findings));
  examination.highest = HighestNeeds(examination.files);
  return Ok();
}

}  // namespace ptpkg::verify
