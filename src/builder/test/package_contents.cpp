// Entries of `package_contents` are names and not paths: "foo" under `lib` may be libfoo.so, libfoo.so.1 or
// libfoo.a. Each entry becomes a list of globs, and one match is enough. A module may be a file, a package or
// an extension.
//
// With `strict`, each file must match some entry, so every entry collects all files that it matches, not only
// the first.

#include "builder/test/package_contents.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "support/text/globs.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

/// Globs for one entry of the recipe: one of them must match.
using Alternatives = std::vector<std::string>;

bool HasLibraryEnding(std::string_view name) {
  return name.ends_with(".so") || name.ends_with(".a") || name.find(".so.") != std::string_view::npos;
}

Alternatives Library(const std::string& name) {
  if (HasLibraryEnding(name)) return {"lib/" + name};
  Alternatives globs;
  for (const std::string_view start : {"lib/lib", "lib/"}) {
    for (const std::string_view end : {".so", ".so.*", ".a"})
      globs.push_back(fmt::format("{}{}{}", start, name, end));
  }
  return globs;
}

/// "a.b" is a module or a package, "a/b.py" and "a.so" are files.
Alternatives Module(const std::string& name, const std::string& site_packages) {
  const std::string file = site_packages + "/" + name;
  const bool is_path = name.find('/') != std::string::npos || name.find('*') != std::string::npos;
  if (is_path || name.ends_with(".py") || name.ends_with(".pth") || HasLibraryEnding(name)) {
    return {file, file + "/**"};
  }
  const std::string module = site_packages + "/" + ReplaceAll(name, ".", "/");
  return {module + ".py", module + "/__init__.py", module + ".*.so", module + ".so"};
}

class ContentsChecker {
 public:
  explicit ContentsChecker(const std::vector<RelPath>& files) : files_(files) {}

  void Require(std::string_view key, const std::string& entry, const Alternatives& globs) {
    bool found = false;
    for (const RelPath& file : files_) {
      if (!Matches(globs, file)) continue;
      found = true;
      matched_.insert(file.str());
    }
    if (!found) {
      problems_.push_back(fmt::format("package_contents.{}: '{}' is not in the package ({})", key, entry,
                                      fmt::join(globs, ", ")));
    }
  }

  void Forbid(const std::string& glob) {
    for (const RelPath& file : files_) {
      if (!GlobMatch(glob, file.str())) continue;
      problems_.push_back(
          fmt::format("package_contents.files.not_exists: '{}' matches '{}'", glob, file.str()));
    }
  }

  void RequireAll() {
    for (const RelPath& file : files_) {
      if (matched_.contains(file.str())) continue;
      problems_.push_back(fmt::format("package_contents.strict: no rule lists '{}'", file.str()));
    }
  }

  std::vector<std::string> Take() && { return std::move(problems_); }

 private:
  static bool Matches(const Alternatives& globs, const RelPath& file) {
    return MatchesAnyGlob(globs, file.str());
  }

  const std::vector<RelPath>& files_;
  std::set<std::string> matched_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> CheckContents(const recipe::ContentsTest& test, const std::vector<RelPath>& files,
                                       const std::string& site_packages) {
  ContentsChecker checker(files);
  for (const std::string& glob : test.files) checker.Require("files", glob, {glob});
  for (const std::string& name : test.site_packages) {
    checker.Require("site_packages", name, Module(name, site_packages));
  }
  for (const std::string& name : test.bin) checker.Require("bin", name, {"bin/" + name});
  for (const std::string& name : test.lib) checker.Require("lib", name, Library(name));
  for (const std::string& name : test.include) checker.Require("include", name, {"include/" + name});
  for (const std::string& glob : test.missing_files) checker.Forbid(glob);
  if (test.strict) checker.RequireAll();
  return std::move(checker).Take();
}

}  // namespace ptpkg::builder
