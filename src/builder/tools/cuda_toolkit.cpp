// Several CUDA toolkits may be installed side by side, and parts of two don't fit together. So ptpkg lists
// all toolkits in order of preference, and compares the parts of the chosen one with its nvcc.
//
// The version of a part comes from its own files, never from its directory: macros of headers, and the names
// behind library links. `libcudart.so.11.0` exists in all of CUDA 11, so two fields are only a major version.
// For cuDNN the name of the cuBLAS that it loads tells the version.
//
// Toolkits are compared by real path, because /usr/local/cuda is a link to one of the others. Debian spreads
// its toolkit over /usr, where nvcc is a script in /usr/bin. The gcc in that directory is simply the one on
// PATH.

#include "builder/tools/cuda_toolkit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>

#include "support/text/text.h"
#include "versions/conda_version.h"

namespace ptpkg::builder {

namespace {

/// Debian's package nvidia-cuda-toolkit installs nvcc here; its /usr/bin/nvcc is a script that calls it.
constexpr std::string_view kDebianBin = "/usr/lib/nvidia-cuda-toolkit/bin";

/// "12.4" of "12.4.131" with two fields.
std::string LeadingFields(const std::string& version, std::size_t count) {
  std::vector<std::string> fields = Split(version, '.');
  fields.resize(std::min(fields.size(), count));
  return Join(fields, ".");
}

/// The number behind the first `macro`, such as "#define CUDA_VERSION "; 0 without one.
int MacroNumber(const std::string& text, std::string_view macro) {
  const std::size_t at = text.find(macro);
  int number = 0;
  if (at == std::string::npos) return number;
  const std::string_view rest = Trim(std::string_view(text).substr(at + macro.size()));
  std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return number;
}

struct HeaderPart {
  std::string_view file;
  std::string_view macro;
  bool is_major;  ///< "12"; else 12040 for 12.4.
};
constexpr auto kHeaders = std::to_array<HeaderPart>({{"cuda.h", "#define CUDA_VERSION ", false},
                                                     {"cuda_runtime_api.h", "#define CUDART_VERSION ", false},
                                                     {"cublas_api.h", "#define CUBLAS_VER_MAJOR ", true}});

struct LibraryPart {
  std::string_view link;
  std::size_t fields;  ///< Number of leading version fields that are CUDA's.
};
constexpr auto kLibraryParts = std::to_array<LibraryPart>({{"libcudart.so", 2}, {"libcublas.so", 1}});

class Parts {
 public:
  Parts(Env& env, std::string version) : env_(env), version_(std::move(version)) {}

  void Header(const std::vector<AbsPath>& folders, const HeaderPart& part) {
    for (const AbsPath& folder : folders) {
      const auto text = ReadFile(env_.fs, folder / part.file);
      if (!text) continue;
      const int number = MacroNumber(*text, part.macro);
      if (number == 0) return;
      Compare(folder / part.file, part.is_major ? std::to_string(number)
                                                : fmt::format("{}.{}", number / 1000, number % 1000 / 10));
      return;
    }
  }

  /// The file behind the link has the version: libcudart.so.12.4.127. libcudart.so.11.0 is the name that all
  /// of CUDA 11 has, so two fields alone are a major version.
  void Library(const std::vector<AbsPath>& folders, const LibraryPart& part) {
    for (const AbsPath& folder : folders) {
      const auto real = env_.fs.RealPath((folder / part.link).str());
      if (!real) continue;
      const std::string name(real->Name());
      const std::string prefix = std::string(part.link) + ".";
      if (!name.starts_with(prefix)) return;
      const std::string version = name.substr(prefix.size());
      const bool is_whole = std::count(version.begin(), version.end(), '.') >= 2;
      Compare(folder / part.link, LeadingFields(version, is_whole ? part.fields : 1));
      return;
    }
  }

  void Compare(const AbsPath& file, const std::string& version) {
    if ((version_ + ".").starts_with(version + ".")) return;
    foreign_.push_back(fmt::format("'{}' belongs to CUDA {}", file.str(), version));
  }

  [[nodiscard]] std::vector<std::string> foreign() && { return std::move(foreign_); }

 private:
  Env& env_;
  std::string version_;
  std::vector<std::string> foreign_;
};

/// "12" of the first "libcublasLt.so.12" in `file`; "" if there is none. It lies within the first 6 MB of
/// cuDNN 8 and 9, which have up to 240 MB.
std::string CublasOf(Env& env, const AbsPath& file) {
  constexpr std::string_view kName = "libcublasLt.so.";
  constexpr std::size_t kChunkBytes = 4U << 20U;
  constexpr std::size_t kTail = 64;  // shared with the next chunk, so that no name is cut
  const auto opened = env.fs.Open(file, OpenMode::kRead);
  if (!opened) return "";
  std::string chunk(kTail + kChunkBytes, '\0');
  for (std::uint64_t offset = 0;; offset += kChunkBytes) {
    const auto got = (*opened)->ReadAt(offset, std::as_writable_bytes(std::span(chunk)));
    if (!got || *got == 0) return "";
    const std::string_view seen = std::string_view(chunk).substr(0, *got);
    const std::size_t at = seen.find(kName);
    // One that begins in the tail may be cut: the next chunk begins with it.
    if (at != std::string_view::npos && (at < kChunkBytes || *got < chunk.size())) {
      const std::string_view rest = seen.substr(at + kName.size());
      return std::string(rest.substr(0, rest.find_first_not_of("0123456789")));
    }
    if (*got < chunk.size()) return "";
  }
}

/// True if there is a program at `nvcc`; adds it unless it is known under another name.
bool AddNvcc(Env& env, const AbsPath& nvcc, std::vector<AbsPath>& found) {
  if (!FindProgram("nvcc", nvcc.Parent().str())) return false;
  const auto real = env.fs.RealPath(nvcc.str());
  const bool known = std::any_of(found.begin(), found.end(), [&](const AbsPath& other) {
    const auto others = env.fs.RealPath(other.str());
    return other == nvcc || (real && others && *real == *others);
  });
  if (!known) found.push_back(nvcc);
  return true;
}

/// /usr/local/cuda-12.4, the newest first.
std::vector<AbsPath> InstalledSideBySide(Env& env) {
  constexpr std::string_view kPrefix = "cuda-";
  const AbsPath local = AbsPath::Literal("/usr/local");
  std::vector<std::pair<versions::Version, AbsPath>> found;
  const auto names = env.fs.ListDir(local);
  if (!names) return {};
  for (const std::string& name : *names) {
    if (!name.starts_with(kPrefix)) continue;
    auto version = versions::Version::Parse(name.substr(kPrefix.size()));
    if (version) found.emplace_back(*std::move(version), local / name);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return b.first < a.first; });
  std::vector<AbsPath> toolkits;
  toolkits.reserve(found.size());
  for (auto& [version, toolkit] : found) toolkits.push_back(std::move(toolkit));
  return toolkits;
}

}  // namespace

Result<CudaToolkit> ReadCudaToolkit(Env& env, const AbsPath& nvcc) {
  PTPKG_TRY(const AbsPath real, env.fs.RealPath(nvcc.str()));
  AbsPath bin = real.Parent();
  CudaToolkit toolkit{.root = bin.Parent()};
  PTPKG_TRY(toolkit.has_profile, Exists(env.fs, bin / "nvcc.profile"));
  if (real.str() == "/usr/bin/nvcc") {
    const AbsPath debian = AbsPath::Literal(kDebianBin);
    PTPKG_TRY(const bool there, Exists(env.fs, debian));
    if (there) bin = debian;
  }
  toolkit.includes = {toolkit.root / "include"};
  toolkit.libraries = {toolkit.root / "lib64", toolkit.root / "lib"};
  const auto targets = env.fs.ListDir(toolkit.root / "targets");
  if (!targets && targets.error().code() != ErrorCode::kNotFound) return targets.error();
  for (const std::string& target : targets ? *targets : std::vector<std::string>()) {
    toolkit.includes.push_back(toolkit.root / "targets" / target / "include");
    toolkit.libraries.push_back(toolkit.root / "targets" / target / "lib");
  }
  // Debian's toolkit has its libraries here.
  for (const char* multiarch : {"lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}) {
    toolkit.libraries.push_back(toolkit.root / multiarch);
  }
  // In /usr/bin lies the gcc that PATH has.
  if (bin.str() == "/usr/bin") return toolkit;
  PTPKG_TRY(const bool has_gcc, Exists(env.fs, bin / "gcc"));
  if (has_gcc) toolkit.host_compiler = bin / "gcc";
  return toolkit;
}

Result<std::vector<AbsPath>> FindNvccs(Env& env, const std::string& named) {
  std::vector<AbsPath> found;
  for (const std::string& text : Split(named.empty() ? env.Variable("PTPKG_CUDA_HOME") : named, ':')) {
    if (text.empty()) continue;
    PTPKG_TRY(const AbsPath root, AbsPath::Parse(text));
    // A directory that the user named must be a toolkit, while the usual places may be empty.
    if (AddNvcc(env, root / "bin/nvcc", found)) continue;
    return Error(ErrorCode::kNotFound, fmt::format("'{}' is not a CUDA toolkit: it has no 'bin/nvcc'", text))
        .WithHint("give the directories of toolkits, such as /usr/local/cuda-12.4, separated by ':'");
  }
  std::vector<std::string> folders = Split(PathVariable(env.variables), ':');
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string home = env.Variable(name);
    if (!home.empty()) folders.push_back(home + "/bin");
  }
  folders.emplace_back("/usr/local/cuda/bin");
  for (const AbsPath& toolkit : InstalledSideBySide(env)) folders.push_back((toolkit / "bin").str());
  for (const std::string& folder : folders) {
    const auto path = AbsPath::Parse(folder);
    if (path) AddNvcc(env, *path / "nvcc", found);
  }
  return found;
}

std::vector<std::string> ForeignCudaParts(Env& env, const CudaToolkit& toolkit, const std::string& version) {
  Parts parts(env, version);
  for (const HeaderPart& part : kHeaders) parts.Header(toolkit.includes, part);
  for (const LibraryPart& part : kLibraryParts) parts.Library(toolkit.libraries, part);
  return std::move(parts).foreign();
}

std::optional<std::string> ForeignCudnn(Env& env, const CudaToolkit& toolkit, const AbsPath& header,
                                        const std::string& version) {
  std::vector<AbsPath> folders = {header.Parent().Parent() / "lib64", header.Parent().Parent() / "lib"};
  folders.insert(folders.end(), toolkit.libraries.begin(), toolkit.libraries.end());
  for (const char* usual : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"}) {
    folders.push_back(AbsPath::Literal(usual));
  }
  for (const AbsPath& folder : folders) {
    const auto names = env.fs.ListDir(folder);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
      // These libraries of cuDNN contain the name of their cuBLAS.
      const bool tells = name.starts_with("libcudnn_adv.so.") || name.starts_with("libcudnn_ops_infer.so.");
      const std::string major = tells ? CublasOf(env, folder / name) : "";
      if (major.empty()) continue;
      if (major == LeadingFields(version, 1)) return std::nullopt;
      return fmt::format("'{}' is for CUDA {}", (folder / name).str(), major);
    }
  }
  return std::nullopt;
}

}  // namespace ptpkg::builder
