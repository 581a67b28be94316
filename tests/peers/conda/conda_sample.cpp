// conda_sample FOLDER: writes a channel with one package for each thing that a reader may get wrong.
// tests/peers/conda/conda_read.py has other tools read it. Every package exists in both formats.

#include <exception>
#include <iostream>

#include "conda/package.h"
#include "index/index.h"
#include "support/test_env.h"
#include "support/text/json.h"

namespace ptpkg {
namespace {

struct SampleFile {
  std::string path;
  std::string content;
  bool executable = false;
  std::string link_target = {};  ///< Not empty: a symlink.
};

const std::string kPlaceholder = "/build/" + std::string(248, 'p');

class Sampler {
 public:
  Sampler(Env& env, const AbsPath& folder) : env_(env), folder_(folder) {}

  Result<void> Run() {
    PTPKG_CHECK(Write(Named("sample-empty"), {}));
    PTPKG_CHECK(WritePrefixes());
    PTPKG_CHECK(WriteNames());
    PTPKG_CHECK(WritePython());
    PTPKG_CHECK(WriteNoarch());
    PTPKG_TRY(const index::IndexSummary summary,
              index::IndexConda(env_, folder_ / "channel", {.known = artifacts_}));
    return summary.packages == artifacts_.size()
               ? Ok()
               : Error(ErrorCode::kInternal, "a package is missing in the index");
  }

 private:
  static conda::PackageMetadata Named(const std::string& name) {
    conda::PackageMetadata metadata;
    metadata.name = name;
    metadata.version = "1.2.3";
    metadata.build_string = "h1234567_4";
    metadata.build_number = 4;
    metadata.license = "BSD-3-Clause";
    metadata.license_files = {{"LICENSE", "do what you like\n"}};
    metadata.about = {{"summary", "a sample"},
                      {"description", "\nfirst line\n  second line\n\nend\n"},
                      {"home", "https://example.org"}};
    metadata.hash_input = Json{{"target_platform", "linux-64"}};
    metadata.info_files = {{"recipe/recipe.yaml", "package: {name: " + name + "}\n"}};
    return metadata;
  }

  Result<void> WritePrefixes() {
    conda::PackageMetadata metadata = Named("sample-prefix");
    metadata.depends = {"sample-names >=1.2", "sample-empty"};
    metadata.constrains = {"sample-noarch >=1"};
    metadata.run_exports = {{"weak", {"sample-prefix >=1.2.3,<2"}}};
    metadata.track_features = {"sample-feature"};
    const std::string nul(1, '\0');
    return Write(metadata, {{"bin/where", "#!/bin/sh\necho " + kPlaceholder + "\n", true},
                            {"etc/long.txt", "root=" + kPlaceholder + "\nlib=" + kPlaceholder + "/lib\n"},
                            {"lib/libwhere.so.1",
                             "\x7f"
                             "ELF" +
                                 nul + kPlaceholder + "/lib:" + kPlaceholder + nul + "end" + nul},
                            {"lib/libwhere.so", "", false, "libwhere.so.1"},
                            {"lib/dir/up", "", false, "../libwhere.so"},
                            {"lib/nowhere", "", false, "missing"},
                            {"share/folder", "", false, "../lib"}});
  }

  Result<void> WriteNames() {
    const std::string deep =
        "share/" + std::string(70, 'a') + "/" + std::string(70, 'b') + "/" + std::string(120, 'c');
    return Write(Named("sample-names"), {{deep, "deep\n"},
                                         {"share/caf\xc3\xa9/\xe6\x97\xa5\xe6\x9c\xac.txt", "text\n"},
                                         {"share/with blank/a b", "blank\n"},
                                         {"share/quote'\"", "quote\n"},
                                         {"share/empty", ""},
                                         {"share/large", std::string(5U << 20U, 'x')}});
  }

  /// Stands in for an interpreter, so that noarch packages have one to depend on.
  Result<void> WritePython() {
    conda::PackageMetadata metadata = Named("python");
    metadata.version = "3.11.9";
    return Write(metadata, {{"bin/python3.11", "#!/bin/sh\nexec python3 \"$@\"\n", true},
                            {"bin/python", "", false, "python3.11"},
                            {"lib/python3.11/site-packages/README", "here\n"}});
  }

  Result<void> WriteNoarch() {
    conda::PackageMetadata metadata = Named("sample-noarch");
    metadata.subdir = "noarch";
    metadata.build_string = "pyh1234567_4";
    metadata.noarch_python = true;
    metadata.depends = {"python >=3.9"};
    metadata.entry_points = {"sample-tool = sample.tool:main"};
    PTPKG_CHECK(Write(
        metadata, {{"lib/python3.9/site-packages/sample/__init__.py", ""},
                   {"lib/python3.9/site-packages/sample/tool.py", "def main():\n    print('tool runs')\n"},
                   {"lib/python3.9/site-packages/sample/__pycache__/tool.cpython-39.pyc", "junk"}}));
    conda::PackageMetadata generic = Named("sample-generic");
    generic.subdir = "noarch";
    return Write(generic, {{"share/generic", "any machine\n"}});
  }

  Result<StagedTree> MakeTree(const std::string& name, const std::vector<SampleFile>& files) {
    const AbsPath root = folder_ / "trees" / name;
    PTPKG_CHECK(env_.fs.MakeDirs(root));
    for (const SampleFile& file : files) {
      const AbsPath path = root / file.path;
      PTPKG_CHECK(env_.fs.MakeDirs(path.Parent()));
      if (!file.link_target.empty()) {
        PTPKG_CHECK(env_.fs.CreateSymlink(file.link_target, path));
        continue;
      }
      PTPKG_CHECK(WriteFile(env_.fs, path, file.content));
      PTPKG_CHECK(env_.fs.SetMode(path, file.executable ? 0755 : 0644));
    }
    return ScanTree(env_, root);
  }

  Result<void> Write(const conda::PackageMetadata& metadata, const std::vector<SampleFile>& files) {
    PTPKG_TRY(const StagedTree tree, MakeTree(metadata.name, files));
    const AbsPath subdir = folder_ / "channel" / metadata.subdir;
    PTPKG_CHECK(env_.fs.MakeDirs(subdir));
    PTPKG_TRY(
        const auto written,
        conda::WritePackages(env_, {.metadata = metadata, .tree = tree, .prefix_placeholder = kPlaceholder},
                             subdir, {}));
    artifacts_.insert(artifacts_.end(), written.begin(), written.end());
    return Ok();
  }

  Env& env_;
  AbsPath folder_;
  std::vector<Artifact> artifacts_;
};

Result<void> Run(std::string_view argument) {
  PTPKG_TRY(const AbsPath folder, AbsPath::Parse(argument));
  test::TestEnv env;
  env->source_date_epoch = 1700000000;
  return Sampler(env, folder).Run();
}

}  // namespace
}  // namespace ptpkg

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: conda_sample FOLDER (absolute)\n";
    return 2;
  }
  try {
    const auto done = ptpkg::Run(argv[1]);
    if (done) return 0;
    std::cerr << ptpkg::FormatError(done.error()) << "\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
  }
  return 1;
}
