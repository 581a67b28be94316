#include "support/temp_dir.h"

#include <algorithm>
#include <cstdlib>

#include "support/must.h"

namespace ptpkg::test {
namespace {

AbsPath MakeUnique() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): tests do not change the environment.
  const char* base = std::getenv("TMPDIR");
  std::string pattern = std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/ptpkg-test-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot create '" + pattern + "'");
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(pattern.c_str(), nullptr), &std::free);
  return Must(AbsPath::Parse(real.get()));
}

}  // namespace

TempDir::TempDir() : path_(MakeUnique()) {}

TempDir::~TempDir() { static_cast<void>(RemoveTree(*MakeOsFs(), path_)); }

AbsPath TempDir::WriteFile(std::string_view relative, std::string_view content, std::uint32_t mode) const {
  const auto fs = MakeOsFs();
  AbsPath path = path_ / relative;
  Must(fs->MakeDirs(path.Parent()));
  if (Must(Exists(*fs, path))) Must(fs->Remove(path));
  const std::unique_ptr<File> file = Must(fs->Open(path, OpenMode::kCreateNew));
  Must(file->WriteAt(0, AsBytes(content)));
  Must(file->Close());
  Must(fs->SetMode(path, mode));
  return path;
}

AbsPath TempDir::MakeDir(std::string_view relative) const {
  AbsPath path = path_ / relative;
  Must(MakeOsFs()->MakeDirs(path));
  return path;
}

AbsPath TempDir::MakeSymlink(std::string_view target, std::string_view relative) const {
  AbsPath path = path_ / relative;
  Must(MakeOsFs()->MakeDirs(path.Parent()));
  Must(MakeOsFs()->CreateSymlink(std::string(target), path));
  return path;
}

std::string TempDir::ReadFile(std::string_view relative) const {
  return Must(ptpkg::ReadFile(*MakeOsFs(), path_ / relative));
}

std::vector<std::string> TempDir::List() const { return ListTree(*MakeOsFs(), path_); }

std::vector<std::string> ListTree(Fs& fs, const AbsPath& root) {
  std::vector<std::string> found;
  if (!Must(Exists(fs, root))) return found;
  std::vector<std::string> folders = {""};
  while (!folders.empty()) {
    const std::string folder = std::move(folders.back());
    folders.pop_back();
    for (const std::string& name : Must(fs.ListDir(folder.empty() ? root : root / folder))) {
      const std::string path = folder.empty() ? name : folder + "/" + name;
      const FileStat stat = Must(fs.Lstat(root / path));
      if (stat.kind == FileKind::kDirectory) {
        folders.push_back(path);
        found.push_back(path + "/");
      } else if (stat.kind == FileKind::kSymlink) {
        found.push_back(path + " -> " + Must(fs.ReadLink(root / path)));
      } else {
        found.push_back(path);
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ptpkg::test
