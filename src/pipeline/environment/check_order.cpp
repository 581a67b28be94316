// Which file does a compiler really take? Search lists alone do not tell: hipcc and nvcc add directories of
// their own, and a -I that is also a system directory is dropped. So each header is preprocessed by itself,
// with -M, which g++, nvcc and hipcc know, and each library is linked by itself, with the linker's --trace.
// One name in a probe keeps a header that refuses the compiler from hiding the others.

#include "pipeline/environment/check_order.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <utility>

#include "pipeline/plan/input_output_overlap.h"
#include "support/files/scratch.h"
#include "support/process/shared_variables.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

struct Compiler {
  std::string name;                  ///< "c++", "nvcc" or "hipcc".
  std::vector<std::string> words;    ///< Program and flags.
  std::string extension;             ///< Of a source file.
  std::vector<std::string> headers;  ///< The built-in list.
  std::vector<std::string> libraries;

  [[nodiscard]] bool IsNvcc() const { return name == "nvcc"; }
};

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// True if a backslash before `rest` keeps its first character. `quote`: '\0' outside of quotes.
bool Escapes(char quote, std::string_view rest) {
  if (rest.empty()) return false;
  return quote == '\0' || (quote == '"' && (rest.front() == '"' || rest.front() == '\\'));
}

/// The word at `at`, which moves behind it.
std::string ReadShellWord(std::string_view text, std::size_t& at) {
  std::string word;
  char quote = '\0';
  for (; at < text.size() && (quote != '\0' || !IsBlank(text[at])); ++at) {
    const char c = text[at];
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      word += c == '\\' && Escapes(quote, text.substr(at + 1)) ? text[++at] : c;
    }
  }
  return word;
}

/// Splits at blanks as a shell does: quotes and backslashes keep them.
std::vector<std::string> ShellWords(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    if (IsBlank(text[at])) {
      ++at;
    } else {
      words.push_back(ReadShellWord(text, at));
    }
  }
  return words;
}

std::vector<std::string> Words(const Env& env, std::initializer_list<const char*> variables) {
  std::vector<std::string> words;
  for (const char* variable : variables) {
    for (std::string& word : ShellWords(env.Variable(variable))) words.push_back(std::move(word));
  }
  return words;
}

/// Puts the program that `variable` names, else the one called `name`, before the compiler's flags. False: it
/// is not on PATH. Errors: kNotFound for one that `variable` names.
Result<bool> FindCompiler(const Env& env, const char* variable, const std::string& name, Compiler& compiler) {
  std::vector<std::string> words = Words(env, {variable});
  const bool is_named = !words.empty();
  if (!is_named) words = {name};
  std::optional<AbsPath> program = FindProgram(words.front(), PathVariable(env.variables));
  if (const auto path = AbsPath::Parse(words.front()); path && env.fs.Stat(*path)) program = *path;
  if (!program && is_named) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("${}: program '{}' does not exist", variable, words.front()))
        .WithHint(fmt::format("unset {}, or correct it", variable));
  }
  if (program) words.front() = program->str();
  compiler.words.insert(compiler.words.begin(), words.begin(), words.end());
  return program.has_value();
}

Result<std::vector<Compiler>> Compilers(const Env& env) {
  std::vector<Compiler> found;
  Compiler host{.name = "c++",
                .words = Words(env, {"CPPFLAGS", "CXXFLAGS"}),
                .extension = "cpp",
                .headers = {"cstdlib", "stdlib.h", "omp.h"},
                .libraries = {"stdc++", "gomp"}};
  Compiler nvcc{.name = "nvcc",
                .words = Words(env, {"CUDAFLAGS"}),
                .extension = "cu",
                .headers = {"cstdlib", "cuda_runtime.h", "thrust/version.h"},
                .libraries = {"stdc++", "cudart"}};
  Compiler hipcc{.name = "hipcc",
                 .words = Words(env, {"HIPFLAGS"}),
                 .extension = "hip",
                 .headers = {"cstdlib", "omp.h", "hip/hip_version.h", "thrust/version.h"},
                 .libraries = {"stdc++", "amdhip64"}};
  struct Row {
    const char* variable;
    const char* name;
    Compiler& compiler;
  };
  for (const Row& row :
       {Row{"CXX", "g++", host}, Row{"CUDACXX", "nvcc", nvcc}, Row{"HIPCXX", "hipcc", hipcc}}) {
    PTPKG_TRY(const bool exists, FindCompiler(env, row.variable, row.name, row.compiler));
    if (exists) found.push_back(std::move(row.compiler));
  }
  if (!found.empty()) return found;
  return Error(ErrorCode::kNotFound, "no compiler found: g++, nvcc and hipcc are not on PATH")
      .WithHint("install: apt-get install g++");
}

/// Paths in a make rule, in order. A backslash escapes a blank, or ends a line.
std::vector<std::string> Prerequisites(std::string_view rule) {
  std::vector<std::string> paths;
  std::string path;
  for (std::size_t i = 0; i < rule.size(); ++i) {
    if (rule[i] == '\\' && i + 1 < rule.size() && rule[i + 1] == ' ') {
      path += rule[++i];
    } else if (rule[i] == ' ' || rule[i] == '\n' || rule[i] == '\\') {
      if (!path.empty()) paths.push_back(std::exchange(path, ""));
    } else {
      path += rule[i];
    }
  }
  if (!path.empty()) paths.push_back(path);
  return paths;
}

/// The path of lib`name`.so or .a in a line of the linker's trace; "" if it is another file.
std::string TracedLibrary(std::string_view line, const std::string& name) {
  if (line.find("/lib" + name + ".so") == std::string_view::npos &&
      line.find("/lib" + name + ".a") == std::string_view::npos)
    return "";
  const std::size_t begin = line.find('/');
  return std::string(line.substr(begin, line.find_first_of(" )", begin) - begin));
}

/// Directories between the two lines around gcc's and clang's list. nvcc prints a list for each pass.
std::vector<std::string> SearchList(const std::string& output) {
  std::vector<std::string> list;
  bool inside = false;
  for (const std::string& line : SplitLines(output)) {
    if (line.starts_with("#include <...>")) {
      inside = true;
      list.clear();
    } else if (line.starts_with("End of search list")) {
      inside = false;
    } else if (inside) {
      list.emplace_back(Trim(line));
    }
  }
  return list;
}

class OrderChecker {
 public:
  /// The toolkit of the other GPUs is not part of a compiler's environment.
  OrderChecker(Env& env, const OrderRequest& request, const AbsPath& scratch, const Compiler& compiler)
      : env_(env), request_(request), scratch_(scratch), compiler_(compiler) {
    for (const std::string name :
         {"PREFIX", "BUILD_PREFIX", "CONDA_PREFIX", "VIRTUAL_ENV", "CUDA_HOME", "ROCM_PATH"}) {
      const auto root = AbsPath::Parse(env.Variable(name));
      const bool is_of_others = name == (compiler.name == "hipcc" ? "CUDA_HOME" : "ROCM_PATH");
      if (root && !is_of_others) roots_.push_back(ResolveExistingPart(env, *root));
    }
  }

  Result<CompilerOrder> Check() {
    CompilerOrder order{.compiler = compiler_.name};
    PTPKG_TRY(
        const std::string searched,
        Run("", compiler_.IsNvcc() ? Arguments{"-E", "-v", "-Xcompiler", "-v"} : Arguments{"-E", "-v"}));
    order.directories = SearchList(searched);
    const AbsPath program = StartedCompiler(searched);
    const std::string name(program.Name());
    order.files.push_back(
        Taken("compiler", name, program.str(), {"bin"}, {name, "x86_64-conda-linux-gnu-" + name}));
    const auto each = [&](const std::vector<std::string>& built_in, const std::vector<std::string>& asked,
                          const auto& find) -> Result<void> {
      std::vector<std::string> names = built_in;
      names.insert(names.end(), asked.begin(), asked.end());
      for (std::size_t i = 0; i < names.size(); ++i) {
        PTPKG_TRY(TakenFile file, find(names[i]));
        if (!file.path.empty() || i >= built_in.size()) order.files.push_back(std::move(file));
      }
      return Ok();
    };
    PTPKG_CHECK(
        each(compiler_.headers, request_.headers, [&](const std::string& name) { return Header(name); }));
    PTPKG_CHECK(each(compiler_.libraries, request_.libraries,
                     [&](const std::string& name) { return Library(name); }));
    return order;
  }

 private:
  using Arguments = std::vector<std::string>;

  /// Output of the compiler for a source file with this text. Errors: kCommandFailed.
  Result<std::string> Run(const std::string& text, const Arguments& arguments) {
    const AbsPath source = scratch_ / ("probe." + compiler_.extension);
    PTPKG_CHECK(WriteFile(env_.fs, source, text));
    Command command{.argv = compiler_.words, .env = SharedVariables(env_), .cwd = scratch_};
    command.argv.push_back(source.str());
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.env["LC_ALL"] = "C";
    command.cancel = &env_.cancel;
    std::string output;
    command.on_line = [&](std::string_view line) { output.append(line).push_back('\n'); };
    PTPKG_TRY(const ExitStatus status, env_.process.Run(command));
    if (status.ok()) return output;
    return Error(ErrorCode::kCommandFailed,
                 fmt::format("'{}' failed: {}", ShellQuote(command.argv), FirstLine(output)));
  }

  /// The compiler's file as its output of -v states it: the program called can be a wrapper such as ccache.
  /// The program called, if the output has no such file. gcc prints its file, nvcc and clang their directory.
  [[nodiscard]] AbsPath StartedCompiler(const std::string& output) const {
    AbsPath called = AbsPath::Literal(compiler_.words.front());
    for (const std::string& line : SplitLines(output)) {
      std::string file;
      if (compiler_.IsNvcc()) {  // Its host compiler prints lines of its own.
        if (line.starts_with("#$ _HERE_=")) file = line.substr(10) + "/nvcc";
      } else if (line.starts_with("COLLECT_GCC=")) {
        file = line.substr(12);
      } else if (line.starts_with("InstalledDir: ")) {
        file = line.substr(14) + "/" + std::string(called.Name());
      }
      if (const auto started = AbsPath::Parse(file); started && env_.fs.Stat(*started)) return *started;
    }
    return called;
  }

  /// "error: …" of gcc and clang, "Error: …" of the assembler, "nvcc fatal   : …".
  static std::string FirstLine(const std::string& output) {
    for (const std::string& line : SplitLines(output)) {
      if (line.find("rror:") != std::string::npos || line.find("fatal") != std::string::npos) return line;
    }
    return output.substr(0, output.find('\n'));
  }

  Result<TakenFile> Header(const std::string& name) {
    const auto rule = Run(fmt::format("#include <{}>\n", name), {"-M"});
    if (!rule && rule.error().code() != ErrorCode::kCommandFailed) return rule.error();
    std::string path;
    for (const std::string& one : rule ? Prerequisites(*rule) : Arguments()) {
      if (one.ends_with("/" + name) && path.empty()) path = one;
    }
    return Taken("header", name, path, {"include", "targets/x86_64-linux/include", "include/cccl"}, {name});
  }

  Result<TakenFile> Library(const std::string& name) {
    Arguments arguments = {"-shared", "-o", "probe.so", "-l" + name};
    const Arguments flags = compiler_.IsNvcc() ? Arguments{"-Xlinker", "--trace"} : Arguments{"-Wl,--trace"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    if (!compiler_.IsNvcc()) {
      for (std::string& word : Words(env_, {"LDFLAGS"})) arguments.push_back(std::move(word));
    }
    const auto trace = Run("", arguments);
    if (!trace && trace.error().code() != ErrorCode::kCommandFailed) return trace.error();
    std::string path;
    for (const std::string& line : trace ? SplitLines(*trace) : Arguments()) {
      if (path.empty()) path = TracedLibrary(line, name);
    }
    return Taken("library", name, path, {"lib", "lib64", "targets/x86_64-linux/lib"},
                 {"lib" + name + ".so", "lib" + name + ".a"});
  }

  /// `folders`, `names`: where a root of the environment would have it, and under which names.
  TakenFile Taken(const char* kind, const std::string& name, const std::string& path,
                  const Arguments& folders, const Arguments& names) {
    TakenFile file{.kind = kind, .name = name, .path = path};
    const auto taken = AbsPath::Parse(path);
    if (!taken) return file;
    const AbsPath real = ResolveExistingPart(env_, *taken);
    for (const AbsPath& root : roots_) {
      if (taken->IsWithin(root) || real.IsWithin(root)) return file;
      for (const std::string& folder : folders) {
        for (const std::string& one : names) {
          const auto own = AbsPath::Resolve(root, folder + "/" + one);
          if (!own || !env_.fs.Stat(*own)) continue;
          file.wanted = own->str();
          return file;
        }
      }
    }
    return file;
  }

  Env& env_;
  const OrderRequest& request_;
  const AbsPath& scratch_;
  const Compiler& compiler_;
  std::vector<AbsPath> roots_ = {};
};

}  // namespace

Result<std::vector<CompilerOrder>> CheckOrder(Env& env, const OrderRequest& request) {
  PTPKG_TRY(const std::vector<Compiler> compilers, Compilers(env));
  PTPKG_TRY(const TempDir scratch, TempDir::Create(env.fs, env.cache_dir / "work", "order"));
  std::vector<CompilerOrder> orders;
  for (const Compiler& compiler : compilers) {
    PTPKG_TRY(CompilerOrder order, OrderChecker(env, request, scratch.path(), compiler).Check());
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace ptpkg::pipeline
