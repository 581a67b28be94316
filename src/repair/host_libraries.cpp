// Searches like ld.so(8): DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, /etc/ld.so.cache, default directories. The
// directories of --lib-dir come before all of them. A file for another architecture does not end a search,
// because ld.so skips it, too. The header of each candidate decides. For a musl wheel only --lib-dir counts
// (own_only): the libraries of this machine need glibc.

#include "repair/host_libraries.h"

#include <array>
#include <fmt/core.h>

#include "support/text/text.h"

namespace ptpkg::repair {
namespace {

constexpr std::uint64_t kMaxCacheBytes = 64U << 20U;  // of a machine with 5,000 libraries: 0.4 MB

// Default directories of ld.so in various distributions: Debian's multiarch directories, Fedora's lib64.
constexpr std::array<std::string_view, 8> kDefaultFolders = {"/lib/x86_64-linux-gnu",
                                                             "/usr/lib/x86_64-linux-gnu",
                                                             "/lib/aarch64-linux-gnu",
                                                             "/usr/lib/aarch64-linux-gnu",
                                                             "/lib64",
                                                             "/usr/lib64",
                                                             "/lib",
                                                             "/usr/lib"};

/// True if ld.so would load the file at `path`, according to its header.
Result<bool> Fits(Env& env, const AbsPath& path, const elf::Host& host) {
  const Result<FileStat> stat = env.fs.Stat(path);
  if (!stat || stat->kind != FileKind::kRegular) return false;
  PTPKG_TRY(const auto file, env.fs.Open(path, OpenMode::kRead));
  std::array<std::byte, elf::kCompatibilityHeaderBytes> head{};
  PTPKG_TRY(const std::size_t got, file->ReadAt(0, head));
  // The first bytes are enough: class, byte order and machine are in the ELF header.
  return elf::CompatibilityFromHeader(Bytes(head).first(got), host).fit == elf::CompatibilityKind::kLoads;
}

Result<std::optional<AbsPath>> FindIn(Env& env, const std::vector<std::string>& folders,
                                      const HostSearch& search) {
  for (const std::string& folder : folders) {
    if (!folder.starts_with('/')) continue;  // relative to whatever directory the process begins in
    PTPKG_TRY(const AbsPath path, AbsPath::Parse(folder + "/" + search.name));
    PTPKG_TRY(const bool fits, Fits(env, path, search.host));
    if (fits) return std::optional(path);
  }
  return std::optional<AbsPath>();
}

Result<LoaderCache> ReadCache(Env& env) {
  const AbsPath path = AbsPath::Literal("/etc/ld.so.cache");
  PTPKG_TRY(const bool there, Exists(env.fs, path));
  if (!there) return LoaderCache();
  PTPKG_TRY(const std::string bytes, ReadFile(env.fs, path, kMaxCacheBytes));
  Result<LoaderCache> cache = ParseLoaderCache(bytes);
  if (cache) return cache;
  // The default directories hold most libraries, so the search continues without the cache.
  env.reporter.Warn(fmt::format("'{}' is not used: {}", path.str(), cache.error().message()));
  return LoaderCache();
}

}  // namespace

Result<HostLibraries> HostLibraries::Read(Env& env, std::vector<AbsPath> first, bool own_only) {
  HostLibraries libraries;
  for (const AbsPath& folder : first) {
    PTPKG_TRY(const FileStat stat, env.fs.Stat(folder));
    if (stat.kind != FileKind::kDirectory)
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a directory", folder.str()));
  }
  libraries.first_ = std::move(first);
  libraries.own_only_ = own_only;
  if (own_only) return libraries;
  // ld.so takes both separators.
  libraries.environment_ = Split(ReplaceAll(env.Variable("LD_LIBRARY_PATH"), ";", ":"), ':');
  PTPKG_TRY(libraries.cache_, ReadCache(env));
  return libraries;
}

Result<std::optional<AbsPath>> HostLibraries::Find(Env& env, const HostSearch& search) const {
  std::vector<std::string> first;
  for (const AbsPath& folder : first_) first.push_back(folder.str());
  if (const std::size_t slash = search.name.rfind('/'); slash != std::string::npos) {
    if (search.name.starts_with('/')) {
      PTPKG_TRY(const AbsPath path, AbsPath::Parse(search.name));
      PTPKG_TRY(const bool fits, Fits(env, path, search.host));
      if (fits) return std::optional(path);
    }
    // The path belongs to the machine that linked the file. --lib-dir gives the directory on this one.
    HostSearch by_name = search;
    by_name.name = search.name.substr(slash + 1);
    return FindIn(env, first, by_name);
  }
  std::vector<const std::vector<std::string>*> lists = {&first};
  if (!own_only_) lists.insert(lists.end(), {&search.rpath, &environment_, &search.runpath});
  for (const std::vector<std::string>* folders : lists) {
    PTPKG_TRY(auto found, FindIn(env, *folders, search));
    if (found) return found;
  }
  if (own_only_) return std::optional<AbsPath>();
  if (const auto cached = cache_.find(search.name); cached != cache_.end()) {
    for (const std::string& text : cached->second) {
      PTPKG_TRY(const AbsPath path, AbsPath::Parse(text));
      PTPKG_TRY(const bool fits, Fits(env, path, search.host));
      if (fits) return std::optional(path);
    }
  }
  return FindIn(env, {kDefaultFolders.begin(), kDefaultFolders.end()}, search);
}

}  // namespace ptpkg::repair
