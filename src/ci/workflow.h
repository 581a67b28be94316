#pragma once
// Service-independent description of a CI workflow. Layer: ci. Every text in here is one line without control
// characters (pipeline/commands/ci.cpp refuses others). Otherwise it can hold anything: the writers of the
// files quote it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptpkg::ci {

/// One variant of a recipe.
struct Job {
  std::string id;     ///< Unique in the workflow, of letters, digits, '.', '_' and '-': "1-toytorch-cpu".
  std::string title;  ///< For people: "toytorch toy_backend=cpu".
  /// Arguments of `ptpkg build`, without --output; paths are relative to the checkout.
  std::vector<std::string> arguments;
  std::string image;                ///< With its digest; "": the value of the variable PTPKG_IMAGE.
  std::vector<std::string> labels;  ///< Labels of the runner; empty: the service's usual one.
};

/// The jobs of one recipe. They can use the packages of all earlier stages.
struct Stage {
  std::string recipe;  ///< Name, for people.
  std::vector<Job> jobs;
};

/// Identity that a job uses to publish.
enum class Identity : std::uint8_t {
  kNone,   ///< A directory of the runner, which no container has.
  kToken,  ///< Secret variables.
  kIndex,  ///< An identity of the CI job, which the package index trusts.
  kRole,   ///< An identity of the CI job, for which AWS gives keys of a role.
};

struct Publication {
  std::vector<std::string> arguments;  ///< Arguments of `ptpkg publish`: "--to=…" and its options.
  Identity identity = Identity::kNone;
  std::vector<std::string> variables = {};  ///< Variables that are not secret, and may be missing.
  std::vector<std::string> secrets = {};    ///< Variables that hold secrets. kIndex: GitLab's identity token.
  std::string audience = {};                ///< kIndex: the audience of that identity.
  bool on_branch = false;                   ///< Each push to the default branch; else tags.
};

struct Workflow {
  std::string name;  ///< Letters, digits, '.', '_' and '-'.
  /// Arguments of `ptpkg ci`, from the root of the checkout: they write this file again.
  std::vector<std::string> arguments;
  bool has_file = true;       ///< False: ptpkg only printed it, so no job can compare it.
  std::vector<Stage> stages;  ///< At least one, each with at least one job.
  std::optional<Publication> publication = {};
  std::string image = {};                ///< For jobs that build nothing; see Job.
  std::vector<std::string> labels = {};  ///< For jobs that build nothing; see Job.
  std::string branch = "main";           ///< The default branch; GitLab detects it itself.
  std::uint64_t timeout_minutes = 330;   ///< Time limit of one build.
  std::string cache_size = "5G";         ///< See `ptpkg cache clean --max-size`.
  /// A source is the checkout itself, so neither the cache nor the output can be inside it.
  bool builds_checkout = false;
};

}  // namespace ptpkg::ci
