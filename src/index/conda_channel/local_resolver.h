#pragma once
// Resolves build dependencies within the output channel. Layer: index. It does not solve foreign channels,
// which stays a conda client's job (docs/decisions/0011).

#include <string>
#include <vector>

#include "index/conda_channel/candidates.h"
#include "versions/match_spec.h"

namespace ptpkg::index {

struct Request {
  std::vector<versions::MatchSpec> host;
  std::vector<versions::MatchSpec> build;
  std::vector<std::string> ignore_by_name;       ///< Ignore run exports of these names.
  std::vector<std::string> ignore_from_package;  ///< Ignore all run exports of these packages.
  std::string subdir =
      {};  ///< Subdir of the build; "noarch" takes host packages of every subdir among the candidates.
};

struct Resolution {
  /// Direct ones first (host, then build, in the order of the request), then their dependencies.
  std::vector<Candidate> packages;
  /// MatchSpec text for the dependencies of the new package, in order, without repeats: weak ones of host,
  /// strong ones of host and build. For a noarch package, the noarch ones of host. Only packages that the
  /// request names export.
  std::vector<std::string> run_exports;
  std::vector<std::string> run_constrains;  ///< Likewise for weak_constrains and strong_constrains.
};

/// Chooses one package of `candidates` for each name in the request, and in the dependencies of chosen
/// packages. All constraints must be satisfied together: the request's, and depends and constrains of all
/// chosen packages. Host and build packages share one prefix, and so one choice. Strong run exports of build
/// packages count as requirements of host.
///
/// Takes the newest match: by version, build number, build string, in the order of `packages`. A planned
/// candidate replaces an existing one of the same name, version and build. It prefers the .conda of two
/// formats. It skips candidates of other platforms than `subdir`. The order of `candidates` does not matter.
/// A name without candidates is left to the machine or a conda client, but its constraints must not exclude
/// each other. Constraints of `build` are not checked there, because a client makes a separate prefix for
/// them. Errors:
/// - kNotFound: no package satisfies all constraints on its name; names the two that conflict and their
///   origins
/// - kCorrupt: the package to take is damaged
/// - kInvalidInput: a dependency that is not a match spec
/// - kUnsupported: 10,000 choices were tried in vain
Result<Resolution> Resolve(const std::vector<Candidate>& candidates, const Request& request);

}  // namespace ptpkg::index
