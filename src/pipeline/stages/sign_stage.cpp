// The stage that states how artifacts were made, and signs the statement. Layer: pipeline.
//
// A signature must cover exactly the bytes that were packed and checked. So the artifact is digested after it
// was signed, and compared with the record that the check saw: a file that changed between the two is an
// error.
//
// The key's id is an input of the node, and the private key only a place. A key that was exchanged after
// planning would sign under a wrong id, so KeyOf compares. Statements contain no times, so equal builds give
// equal statements (docs/decisions/0016-provenance.md).
//
// Invariant: each artifact gives two sidecar files, a count that the `find` below relies on.

#include <fmt/core.h>

#include "pipeline/stages/pack_result.h"
#include "pipeline/stages/provenance.h"
#include "pipeline/stages/stages.h"
#include "provenance/envelope.h"
#include "provenance/key_file.h"
#include "provenance/statement.h"
#include "support/digest/hash.h"
#include "support/text/json.h"

#ifndef PTPKG_VERSION
#error "the build passes PTPKG_VERSION, the version of the project"
#endif

namespace ptpkg::pipeline {
namespace {

using graph::NodeResult;
using graph::NodeRun;

// Raised when statements of equal artifacts come to say something else.
constexpr int kSignVersion = 1;
constexpr const char* kBuilder = "urn:ptpkg:builder";

/// The key that the plan was made with.
Result<SigningKey> KeyOf(Env& env, const NodeRun& run) {
  PTPKG_TRY(const AbsPath file, run.Place("sign key"));
  PTPKG_TRY(const std::string planned, run.Text("key"));
  PTPKG_TRY(SigningKey key, provenance::ReadSigningKey(env, file));
  if (key.id() == planned) return key;
  return Error(ErrorCode::kRefused,
               fmt::format("'{}' changed after planning: it is a different key", file.str()))
      .WithHint("run the command again");
}

/// Adds packages that the same plan makes.
Result<void> AddPackages(const NodeRun& run, Json& dependencies) {
  for (const auto& [role, need] : run.needs()) {
    if (!role.starts_with(kBuiltWithRole)) continue;
    PTPKG_TRY(const Packed packed, ReadPacked(need));
    PTPKG_TRY(const ArtifactRecord record, FirstArtifact(packed, run));
    const std::string name = record.path.substr(record.path.find('/') + 1);
    dependencies.push_back({{"name", name}, {"digest", {{"sha256", record.sha256}}}});
  }
  return Ok();
}

Result<Json> PredicateOf(const NodeRun& run, const NodeResult& made, const ArtifactRecord& record) {
  PTPKG_TRY(Json definition, run.Input("definition"));
  if (!definition.is_object() || !definition["externalParameters"].is_object() ||
      !definition["resolvedDependencies"].is_array()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the plan does not say how '{}' is made", run.subject()));
  }
  definition["externalParameters"]["format"] = record.format;
  definition["internalParameters"] = {{"inputs", record.inputs}};
  PTPKG_CHECK(AddPackages(run, definition["resolvedDependencies"]));
  return Json{{"buildDefinition", std::move(definition)},
              {"runDetails",
               {{"builder", {{"id", kBuilder}, {"version", {{"ptpkg", PTPKG_VERSION}}}}},
                {"metadata", {{"invocationId", made.key}}}}}};
}

/// Writes a file for `record` into the node's directory.
Result<ArtifactRecord> Beside(Env& env, const NodeRun& run, const ArtifactRecord& record,
                              std::string_view ending, const std::string& text) {
  ArtifactRecord beside{
      .path = record.path + std::string(ending),
      .format = std::string(ending == provenance::kStatementEnding ? kStatementFormat : kSignatureFormat),
      .inputs = run.digests()};
  const AbsPath file = run.folder() / beside.path.substr(beside.path.rfind('/') + 1);
  PTPKG_CHECK(WriteFile(env.fs, file, text));
  PTPKG_TRY(const Digests digests, HashFile(env.fs, file, {.md5 = true}));
  beside.sha256 = digests.sha256.Hex();
  beside.md5 = digests.md5.Hex();
  beside.size_bytes = digests.size_bytes;
  return beside;
}

Result<NodeResult> RunSign(Env& env, const NodeRun& run) {
  PTPKG_TRY(const NodeResult made, run.Need("artifacts"));
  PTPKG_TRY(const Packed packed, ReadPacked(made));
  PTPKG_TRY(const std::uint64_t planned, run.Number("count"));
  if (packed.artifacts.size() != planned) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the plan signs {} artifacts of '{}', but {} were made", planned, run.subject(),
                             packed.artifacts.size()))
        .WithHint("make the plan again with this version of ptpkg");
  }
  PTPKG_TRY(const SigningKey key, KeyOf(env, run));
  std::vector<ArtifactRecord> records;
  for (const ArtifactRecord& record : packed.artifacts) {
    PTPKG_CHECK(env.cancel.Check());
    const std::string name = record.path.substr(record.path.rfind('/') + 1);
    Task task(env.reporter, {.stage = "sign", .subject = name});
    const AbsPath file = FileOf(made, record);
    PTPKG_TRY(const Json predicate, PredicateOf(run, made, record));
    const std::string statement = provenance::StatementText({.name = name, .sha256 = record.sha256},
                                                            provenance::kSlsaProvenance, predicate);
    PTPKG_TRY(const std::string envelope,
              provenance::SignEnvelope(key, provenance::kStatementPayload, statement));
    PTPKG_TRY(const std::string signature, key.SignFile(env.fs, file));
    // The signature covers exactly the bytes that were packed and checked.
    PTPKG_TRY(const Digests digests, HashFile(env.fs, file));
    if (digests.sha256.Hex() != record.sha256) {
      return Error(ErrorCode::kHashMismatch, fmt::format("'{}' changed before it was signed", file.str()))
          .WithHint(
              "run the command again; the file is damaged, or another program writes to the output "
              "directory");
    }
    for (const auto& [ending, text] : {std::pair(provenance::kStatementEnding, envelope),
                                       std::pair(provenance::kSignatureEnding, signature)}) {
      PTPKG_TRY(ArtifactRecord beside, Beside(env, run, record, ending, text));
      records.push_back(std::move(beside));
    }
    task.Done();
  }
  return SidecarResult(run, records);
}

}  // namespace

void AddSignStage(graph::StageTable& stages) {
  stages.Add({.name = "sign",
              .version = kSignVersion,
              .keep = graph::Keep::kStaging,
              .run = RunSign,
              .find = [](Env& env, const graph::Node& node, const std::string& key) {
                return FindPacked(env, node, key, 2 * ArtifactCount(node));
              }});
}

}  // namespace ptpkg::pipeline
