#pragma once
// Resolves build dependencies within the output channel. Layer: index. Not a solver of foreign channels,
// which stays a conda client's job (docs/decisions/0011).

#include <string>
#include <vector>

#include "index/conda_channel/candidates.h"
#include "versions/match_spec.h"

namespace ptpkg::index {

struct Request {
  std::vector<versions::MatchSpec> host;
  std::vector<versions::MatchSpec> build;
  std::vector<std::string> ignore_by_name;       ///< Run exports of these names are not taken over.
  std::vector<std::string> ignore_from_package;  ///< No run exports of these packages are taken over.
  std::string subdir =
      {};  ///< Subdir of the build; "noarch" takes host packages of every subdir among the candidates.
};

struct Resolution {
  /// Direct ones first (host, then build, in the order of the request), then what they depend on.
  std::vector<Candidate> packages;
  /// MatchSpec text for the dependencies of what is built, in order, no repeats: weak ones of host, strong
  /// ones of host and build; for a noarch package the noarch ones of host. Only packages that the request
  /// names export.
  std::vector<std::string> run_exports;
  std::vector<std::string> run_constrains;  ///< Likewise for weak_constrains and strong_constrains.
};

/// One package for each name that the request, or what a chosen package depends on, has among `candidates`,
/// such that all constraints hold together: those of the request, and depends and constrains of all that is
/// chosen. Host and build packages share one prefix, and so one choice. Strong run exports of build packages
/// count as requirements of host. Among what fits the newest is taken: by version, build number, build
/// string, in the order of `packages`. A planned candidate takes the place of one that is there under the
/// same name, version and build; of two formats the .conda is taken. Candidates of other platforms than
/// `subdir` are passed over. A name without candidates is left to the machine or a conda client, but its
/// constraints must not exclude each other; those of `build` are not looked at, since a client makes a prefix
/// of their own for them. The order of `candidates` does not matter. Errors: kNotFound when no package
/// satisfies all constraints on its name: the message names the two that collide and who asks each; kCorrupt
/// when the package to take is damaged; kInvalidInput for a dependency that is no match spec; kUnsupported
/// when 10,000 choices were tried in vain.
Result<Resolution> Resolve(const std::vector<Candidate>& candidates, const Request& request);

}  // namespace ptpkg::index
