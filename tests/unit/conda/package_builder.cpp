#include "unit/conda/package_builder.h"

#include <fmt/core.h>
#include <libdeflate.h>
#include <stdexcept>

#include "archive/codec/codec.h"
#include "archive/zip/zip_writer.h"
#include "conda/info/paths_json.h"
#include "support/text/json.h"

namespace ptpkg::test {
namespace {

/// Preparation cannot fail in a test that means something.
template <class T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(FormatError(result.error()));
  return *std::move(result);
}
void Must(Result<void> result) {
  if (!result) throw std::runtime_error(FormatError(result.error()));
}

void Put(std::string& header, std::size_t offset, std::string_view text) {
  header.replace(offset, text.size(), text);
}

std::string Header(const RawMember& member) {
  std::string header(512, '\0');
  Put(header, 0, member.name.substr(0, 100));
  Put(header, 100, fmt::format("{:07o}", member.mode));
  Put(header, 108, "0000000");
  Put(header, 116, "0000000");
  Put(header, 124, fmt::format("{:011o}", member.content.size()));
  Put(header, 136, fmt::format("{:011o}", member.mtime));
  Put(header, 148, "        ");
  header[156] = member.type;
  Put(header, 157, member.link_target.substr(0, 100));
  Put(header, 257, std::string_view("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  Put(header, 148, fmt::format("{:06o}", sum));
  header[154] = '\0';
  return header;
}

std::string Finish(archive::CodecSink& codec, std::string_view text, const StringSink& sink) {
  Must(codec.Write(AsBytes(text)));
  Must(codec.Finish());
  return sink.str();
}

void AddStored(archive::ZipWriter& zip, const std::string& name, std::string_view bytes) {
  ByteSink* sink = Must(zip.Begin({.name = RelPath::Literal(name)}));
  Must(sink->Write(AsBytes(bytes)));
  Must(zip.End(libdeflate_crc32(0, bytes.data(), bytes.size()), bytes.size()));
}

}  // namespace

std::string MakeTar(const std::vector<RawMember>& members) {
  std::string tar;
  for (const RawMember& member : members) {
    tar += Header(member) + member.content;
    tar.resize((tar.size() + 511) / 512 * 512, '\0');
  }
  return tar + std::string(1024, '\0');
}

std::string Bzip2(std::string_view text) {
  StringSink sink;
  return Finish(*archive::MakeBzip2Sink(sink, {}), text, sink);
}

std::string Zstd(std::string_view text, bool with_content_size) {
  StringSink sink;
  const auto codec =
      Must(archive::MakeZstdSink(sink, {.level = 3, .content_size = with_content_size ? text.size() : 0}));
  return Finish(*codec, text, sink);
}

Json DemoIndex() {
  return {{"name", "demo"},           {"version", "1.0"},         {"build", "0"},
          {"build_number", 0},        {"depends", Json::array()}, {"subdir", "linux-64"},
          {"license", "BSD-3-Clause"}};
}

std::vector<RawMember> DemoInfo(const std::vector<RawMember>& payload) {
  std::vector<conda::PathsEntry> paths;
  std::string files;
  for (const RawMember& member : payload) {
    conda::PathsEntry entry;
    entry.path = member.name;
    entry.type = member.type == '2' ? conda::PathType::kSoftLink : conda::PathType::kHardLink;
    entry.sha256 = HashText(member.content);
    entry.size_bytes = member.content.size();
    paths.push_back(entry);
    files += member.name + "\n";
  }
  return {{.name = "info/index.json", .content = DumpJson(DemoIndex())},
          {.name = "info/paths.json", .content = DumpJson(conda::MakePathsJson(paths))},
          {.name = "info/files", .content = files},
          {.name = "info/licenses/LICENSE", .content = "free\n"}};
}

std::string MakeTarBz2(const std::vector<RawMember>& members) { return Bzip2(MakeTar(members)); }

void WriteRawConda(Env& env, const RawConda& conda, const AbsPath& path) {
  const std::unique_ptr<File> file = Must(env.fs.Open(path, OpenMode::kCreateNew));
  archive::ZipWriter zip(*file, 315532800);
  if (!conda.metadata.empty()) AddStored(zip, "metadata.json", conda.metadata);
  for (const std::string& name : conda.extra_members) AddStored(zip, name, "");
  const std::string info = Zstd(conda.info_tar.value_or(MakeTar(conda.info)));
  if (conda.info_first) AddStored(zip, "info-" + conda.stem + ".tar.zst", info);
  AddStored(zip, "pkg-" + conda.stem + ".tar.zst", Zstd(conda.payload_tar.value_or(MakeTar(conda.payload))));
  if (!conda.info_first) AddStored(zip, "info-" + conda.stem + ".tar.zst", info);
  Must(zip.Finish());
  Must(file->Close());
}

StagedTree MakeTree(TestEnv& env, const std::vector<RawMember>& files) {
  const AbsPath root = env.dir().MakeDir("tree");
  for (const RawMember& file : files) {
    if (file.type == '2') {
      env.dir().MakeSymlink(file.link_target, "tree/" + file.name);
    } else {
      env.dir().WriteFile("tree/" + file.name, file.content, static_cast<std::uint32_t>(file.mode));
    }
  }
  return Must(ScanTree(env, root));
}

conda::PackageMetadata DemoMetadata() {
  conda::PackageMetadata metadata;
  metadata.name = "demo";
  metadata.version = "1.0";
  metadata.build_string = "0";
  metadata.depends = {"python >=3.11"};
  metadata.license = "BSD-3-Clause";
  metadata.license_files = {{"LICENSE", "free\n"}};
  metadata.about = {{"home", "https://example.org"}};
  return metadata;
}

}  // namespace ptpkg::test
