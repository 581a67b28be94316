#pragma once
// Creates provenance statements and their plan nodes. Layer: pipeline. docs/formats/provenance.md has each
// field.

#include <map>
#include <string>

#include "graph/stage.h"
#include "pipeline/plan/build_plan.h"
#include "recipe/recipe.h"

namespace ptpkg::pipeline {

/// Signer of a plan's artifacts. From the keys, a plan has only the path of the private key and the id of the
/// public key.
struct Signer {
  AbsPath key = AbsPath::Literal("/nonexistent");
  std::string key_id = {};  ///< SigningKey::id() of the key.
};

/// Reads the key before anything is built. Errors: any from provenance::ReadSigningKey.
Result<Signer> ReadSigner(Env& env, const AbsPath& key);

/// Description of how artifacts are built, as far as their plan tells.
struct BuildDescription {
  JsonBox definition;  ///< buildType, externalParameters and resolvedDependencies of SLSA's predicate.
  /// Role → id of the nodes that make packages which the build uses: their digests are known when it is over.
  std::map<std::string, std::string> packages = {};
};

/// `built`: the id of the node that builds `recipe`. Errors: kIo (the recipe's file).
Result<BuildDescription> DescribeBuild(Env& env, const graph::Plan& plan, const std::string& built,
                                       const BuildRequest& request, const recipe::Recipe& recipe);

/// Materials of a build, for the SBOM of its wheel (recipe_sbom.h): "sources" (name, digest, uri), "patches"
/// (name, their source, sha256) and "tools" (the same as sources, or name and version). Unlike
/// BuildDescription, it does not name the recipe, whose build number and tests do not change a wheel.
/// `toolchains`: builder::ToolVersions, by the id of the node that builds with them.
using Toolchains = std::map<std::string, std::map<std::string, std::string>>;
Json MaterialsOfBuild(const graph::Plan& plan, const std::string& built, const BuildRequest& request,
                      const recipe::Recipe& recipe, const Toolchains& toolchains);

/// `node`: the one that repacks.
BuildDescription DescribeRepack(const graph::Node& node);

struct Signing {
  Signer signer;
  BuildDescription making;
};

/// Prefix of the roles in BuildDescription::packages.
inline constexpr std::string_view kBuiltWithRole = "package ";

/// Adds the node that states and signs how the artifacts of node `pack` were made. Returns its id.
std::string AddSigning(const graph::StageTable& stages, const Signing& signing, const std::string& pack,
                       graph::Plan& plan);

}  // namespace ptpkg::pipeline
