// An object holds result.json, which records the value and all files with their digests, and the files below
// files/. The record names stage and key, so an object that was copied to another key is found out.

#include "pipeline/remote_cache/packed_object.h"

#include <algorithm>
#include <fmt/core.h>

#include "archive/codec/codec.h"
#include "archive/extract.h"
#include "archive/tar/tar_writer.h"
#include "graph/result_store.h"
#include "support/digest/sealed_json.h"
#include "support/text/json_utf8.h"

namespace ptpkg::pipeline {

namespace {

constexpr int kObjectVersion = 1;
constexpr int kZstdLevel = 3;  // zstd's default: a node waits for its upload
constexpr int kMostJobs = 4;   // other nodes have the cores meanwhile
constexpr const char* kRecord = "result.json";
constexpr const char* kFiles = "files";

Error Damaged(std::string_view what) {
  return {ErrorCode::kCorrupt, fmt::format("the object is damaged: {}", what)};
}

Result<archive::EntrySet> EntriesOf(const graph::Node& node, const graph::NodeResult& result) {
  Json body = graph::ResultToJson(result);
  body.update({{"version", kObjectVersion}, {"stage", node.stage}, {"key", result.key}});
  PTPKG_CHECK(CheckUtf8(body, "the result of a node"));
  archive::EntrySet entries;
  PTPKG_CHECK(entries.AddText(RelPath::Literal(kRecord), DumpJson(SealJson(std::move(body)))));
  for (const TreeEntry& entry : result.files.entries) {
    PTPKG_CHECK(entries.Add({.name = RelPath::Literal(kFiles) / entry.path,
                             .is_symlink = entry.kind == FileKind::kSymlink,
                             .mode = entry.mode,
                             .size_bytes = entry.size_bytes,
                             .link_target = entry.link_target,
                             .file = result.files.root / entry.path}));
  }
  return entries;
}

/// The body of result.json, once it is known to be whole and this node's.
Result<Json> ReadRecord(Env& env, const AbsPath& file, const graph::Node& node, const std::string& key) {
  const Result<std::string> text = ReadFile(env.fs, file);
  if (!text && text.error().code() == ErrorCode::kNotFound) return Damaged("it has no result.json");
  if (!text) return Error(text.error());
  Result<Json> json = ParseJson(*text, kRecord);
  std::optional<Json> body = json ? OpenSealedJson(*std::move(json)) : std::nullopt;
  if (!body || !body->is_object()) return Damaged("result.json has changed");
  if (body->value("version", Json()) != kObjectVersion) return Damaged("its format is of another version");
  if (body->value("stage", Json()) != node.stage || body->value("key", Json()) != key)
    return Damaged("it is the result of another key");
  if (!body->contains("value") || !body->contains("files")) return Damaged("result.json is not complete");
  return *std::move(body);
}

}  // namespace

Result<Digests> PackObject(Env& env, const graph::Node& node, const graph::NodeResult& result,
                           const AbsPath& object) {
  PTPKG_TRY(const archive::EntrySet entries, EntriesOf(node, result));
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(object, OpenMode::kCreateNew));
  FileSink disk(*file);
  HashingSink hash(&disk, {.md5 = true});
  PTPKG_TRY(const auto zstd,
            archive::MakeZstdSink(hash, {.level = kZstdLevel, .jobs = std::clamp(env.jobs, 1, kMostJobs)}));
  PTPKG_TRY(archive::TarWriter tar, archive::TarWriter::Create(env, *zstd, 0));
  for (const archive::Entry* entry : entries.Sorted()) {
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_CHECK(tar.Append(*entry));
  }
  PTPKG_CHECK(tar.Finish());
  PTPKG_CHECK(zstd->Finish());
  PTPKG_CHECK(file->Close());
  return hash.Finish();
}

Result<graph::NodeResult> UnpackObject(Env& env, const graph::Node& node, const std::string& key,
                                       const AbsPath& object, const AbsPath& folder) {
  const AbsPath unpacked = object.Parent() / "unpacked";
  PTPKG_CHECK(env.fs.MakeDirs(unpacked / kFiles));
  PTPKG_CHECK(archive::ExtractAny(env, object, unpacked, {}));
  PTPKG_TRY(const Json body, ReadRecord(env, unpacked / kRecord, node, key));
  Result<graph::NodeResult> result = graph::ReadResult(env, body, unpacked / kFiles, kRecord);
  if (!result && result.error().code() == ErrorCode::kCorrupt) return Damaged(result.error().message());
  if (!result) return result;
  PTPKG_CHECK(env.fs.Rename(unpacked / kFiles, folder));
  result->files.root = folder;
  result->key = key;
  return result;
}

}  // namespace ptpkg::pipeline
