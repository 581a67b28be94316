// Functions of expressions: toolchains, pins, platforms, the environment. Layer: recipe.
//
// Keys that a function reads become part of the variant, and so of the build hash. compiler('c') reads the
// keys c_compiler and c_compiler_version through VariantValues::Read, which records them. CONDA_BUILD_SYSROOT
// is read without use, because rattler-build and conda-build hash it with every compiler, and equal recipes
// must get equal hashes.
//
// Some functions work only where their facts are known: detected() in the build string, pin_subpackage() once
// there is a build string, pin_compatible() after host. Elsewhere they are errors, never guesses.
//
// fail() makes a recipe refuse a variant. It works because branches that are not taken are not evaluated.

#include "recipe/expression/functions.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/assert.h"
#include "support/secret_name.h"
#include "support/text/text.h"
#include "versions/pin.h"
#include "versions/version_spec.h"

namespace ptpkg::recipe {
namespace {

Error InvalidCall(std::string message) { return {ErrorCode::kInvalidInput, std::move(message)}; }

/// Checks that there are between `least` and `most` positional arguments and that named ones are known.
Result<void> CheckArguments(const std::string& name, const CallArguments& arguments, std::size_t least,
                            std::size_t most, std::initializer_list<std::string_view> names) {
  const std::size_t count = arguments.positional.size();
  if (count < least || count > most) {
    const std::string range = least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
    return InvalidCall(
        fmt::format("{}() takes {} argument{}, {} given", name, range, range == "1" ? "" : "s", count));
  }
  for (const auto& [key, value] : arguments.named) {
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      return InvalidCall(fmt::format("{}() has no argument '{}'", name, key));
    }
  }
  return Ok();
}

Result<std::string> TextArgument(const std::string& name, const Value& value) {
  if (value.AsText() != nullptr) return *value.AsText();
  return InvalidCall(fmt::format("{}() takes text, not {}", name, value.KindName()));
}

bool IsPlainVersion(std::string_view version) {
  return std::all_of(version.begin(), version.end(), [](char c) {
    return c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

std::string DefaultCompiler(const std::string& family, const std::string& language) {
  if (language == "fortran") return family == "win" ? "flang" : "gfortran";
  if (language != "c" && language != "cxx") return language;
  if (family == "win") return "vs2022";
  if (family == "emscripten") return "emscripten";
  const bool c = language == "c";
  if (family == "osx") return c ? "clang" : "clangxx";
  return c ? "gcc" : "gxx";
}

/// compiler('c') → "gcc_linux-64 =12" from the keys c_compiler and c_compiler_version, so that a filter can
/// replace the operator; stdlib('c') alike, but without a default name.
Result<Value> Toolchain(const std::string& kind, const std::string& language, Scope& scope) {
  const std::string key = language + "_" + kind;
  const std::optional<Value> named = scope.variants().Read(key);
  const std::optional<Value> version = scope.variants().Read(key + "_version");
  // The SDK decides what a compiler makes, so rattler-build and conda-build hash it with every compiler.
  static_cast<void>(scope.variants().Read("CONDA_BUILD_SYSROOT"));
  std::string name;
  if (named) {
    PTPKG_TRY(name, named->ToText());
  } else if (kind == "compiler") {
    name = DefaultCompiler(PlatformFamily(scope.target_platform()), language);
  } else {
    return InvalidCall(fmt::format("no standard library is set for the language '{}'", language))
        .WithHint(fmt::format("add '{}' to variants.yaml, for example [sysroot]", key));
  }
  std::string spec = fmt::format("{}_{}", name, scope.target_platform());
  if (version) {
    PTPKG_TRY(const std::string text, version->ToText());
    // A plain version allows its whole family. A constraint has its own operators.
    spec += (IsPlainVersion(text) ? " =" : " ") + text;
  }
  return Value(std::move(spec));
}

Result<Value> Compiler(const CallArguments& arguments, Scope& scope) {
  PTPKG_CHECK(CheckArguments("compiler", arguments, 1, 1, {}));
  PTPKG_TRY(const std::string language, TextArgument("compiler", arguments.positional[0]));
  return Toolchain("compiler", language, scope);
}

Result<Value> Stdlib(const CallArguments& arguments, Scope& scope) {
  PTPKG_CHECK(CheckArguments("stdlib", arguments, 1, 1, {}));
  PTPKG_TRY(const std::string language, TextArgument("stdlib", arguments.positional[0]));
  return Toolchain("stdlib", language, scope);
}

/// cdt('mesa-libgl-devel') → "mesa-libgl-devel-cos7-x86_64": packages of a Linux distribution.
Result<Value> Cdt(const CallArguments& arguments, Scope& scope) {
  PTPKG_CHECK(CheckArguments("cdt", arguments, 1, 1, {}));
  PTPKG_TRY(const std::string package, TextArgument("cdt", arguments.positional[0]));
  std::string arch = PlatformArchitecture(scope.target_platform());
  // conda-build's defaults (jinja_context.py, cdt).
  std::string distribution = arch == "aarch64" || arch == "ppc64le" || arch == "s390x" ? "cos7" : "cos6";
  if (arch == "x86") arch = "i686";
  if (const std::optional<Value> value = scope.variants().Read("cdt_arch")) {
    PTPKG_TRY(arch, value->ToText());
  }
  if (const std::optional<Value> value = scope.variants().Read("cdt_name")) {
    PTPKG_TRY(distribution, value->ToText());
  }
  const std::size_t space = std::min(package.find(' '), package.size());
  return Value(
      fmt::format("{}-{}-{}{}", package.substr(0, space), distribution, arch, package.substr(space)));
}

/// detected('cuda_toolkit') → "13.0.88", in build.string alone.
Result<Value> Detected(const CallArguments& arguments, Scope& scope) {
  PTPKG_CHECK(CheckArguments("detected", arguments, 1, 1, {}));
  PTPKG_TRY(const std::string name, TextArgument("detected", arguments.positional[0]));
  return scope.Detected(name);
}

/// The version in a variant's value: "3.11" of "3.11.* *_cpython".
Result<std::string> VersionArgument(const Value& value) {
  PTPKG_TRY(std::string text, value.ToText());
  // The build of "3.11.* *_cpython" says nothing about the version.
  text = text.substr(0, text.find(' '));
  while (text.ends_with(".*")) text.resize(text.size() - 2);
  while (text.ends_with('*')) text.pop_back();
  return text;
}

/// match(python, '>=3.9')
Result<Value> Match(const CallArguments& arguments, Scope& /*scope*/) {
  PTPKG_CHECK(CheckArguments("match", arguments, 2, 2, {}));
  PTPKG_TRY(const std::string text, VersionArgument(arguments.positional[0]));
  PTPKG_TRY(const std::string constraint, TextArgument("match", arguments.positional[1]));
  PTPKG_TRY(const versions::Version version, versions::Version::Parse(text));
  PTPKG_TRY(const versions::VersionSpec allowed, versions::VersionSpec::Parse(constraint));
  return Value(allowed.Matches(version));
}

/// row_for(load_from_file('versions.yaml'), version)
Result<Value> Row(const CallArguments& arguments, Scope& scope) {
  PTPKG_CHECK(CheckArguments("row_for", arguments, 2, 2, {}));
  PTPKG_TRY(const std::string version, VersionArgument(arguments.positional[1]));
  PTPKG_TRY(Value row, RowFor(arguments.positional[0], version));
  return scope.Keep(std::move(row));
}

/// load_from_file('versions.yaml'): a file beside the recipe, as a value.
Result<Value> LoadFromFile(const CallArguments& arguments, Scope& scope) {
  PTPKG_CHECK(CheckArguments("load_from_file", arguments, 1, 1, {}));
  PTPKG_TRY(const std::string name, TextArgument("load_from_file", arguments.positional[0]));
  return scope.Load(name);
}

/// fail('no switch for that'): the recipe itself refuses the variant. A branch that is not taken is not
/// called.
Result<Value> Fail(const CallArguments& arguments, Scope& /*scope*/) {
  PTPKG_CHECK(CheckArguments("fail", arguments, 1, 1, {}));
  PTPKG_TRY(const std::string text, TextArgument("fail", arguments.positional[0]));
  return InvalidCall(text).WithHint("the recipe refuses this variant: change its values in the variant file");
}

struct PinArguments {
  std::string package;
  versions::PinBounds bounds;
  bool exact = false;
  std::string build;
};

/// The bound called `name`: text, none for no bound, or the present value of `bound`.
Result<void> ReadBound(const CallArguments& arguments, std::string_view name, std::string& bound) {
  const Value* value = arguments.Find(SIZE_MAX, name);
  if (value == nullptr) return Ok();
  if (!value->IsNone() && value->AsText() == nullptr) {
    return InvalidCall(fmt::format("{} takes text such as 'x.x', not {}", name, value->KindName()));
  }
  bound = value->IsNone() ? "" : *value->AsText();
  return Ok();
}

Result<PinArguments> ReadPin(const std::string& function, const CallArguments& arguments) {
  for (const auto& [old_name, new_name] :
       {std::pair("min_pin", "lower_bound"), std::pair("max_pin", "upper_bound")}) {
    if (arguments.Find(SIZE_MAX, old_name) == nullptr) continue;
    return InvalidCall(fmt::format("{}() has no argument '{}'", function, old_name))
        .WithHint(fmt::format("in v1 recipes it is called '{}'", new_name));
  }
  PTPKG_CHECK(CheckArguments(function, arguments, 1, 1, {"exact", "lower_bound", "upper_bound", "build"}));
  PinArguments pin;
  PTPKG_TRY(pin.package, TextArgument(function, arguments.positional[0]));
  if (const Value* exact = arguments.Find(SIZE_MAX, "exact")) {
    if (exact->AsBool() == nullptr) return InvalidCall("exact takes true or false");
    pin.exact = *exact->AsBool();
    if (arguments.named.size() > 1) return InvalidCall("a pin with 'exact' takes no other argument");
  }
  PTPKG_CHECK(ReadBound(arguments, "lower_bound", pin.bounds.lower));
  PTPKG_CHECK(ReadBound(arguments, "upper_bound", pin.bounds.upper));
  PTPKG_CHECK(ReadBound(arguments, "build", pin.build));
  return pin;
}

Result<Value> MakePin(const PinArguments& pin, const std::string& version, const std::string& build_string) {
  if (pin.exact) return Value(fmt::format("{} =={} {}", pin.package, version, build_string));
  PTPKG_TRY(std::string constraint, versions::PinConstraint(version, pin.bounds));
  // A build string needs a version before it in a match spec.
  if (constraint.empty() && !pin.build.empty()) constraint = "*";
  return Value(std::string(Trim(fmt::format("{} {} {}", pin.package, constraint, pin.build))));
}

Result<Value> PinSubpackage(const CallArguments& arguments, Scope& scope) {
  PTPKG_TRY(const PinArguments pin, ReadPin("pin_subpackage", arguments));
  const PinFacts& facts = scope.pins();
  if (facts.build_string.empty()) {
    return InvalidCall("pin_subpackage() needs the build string, which is not known here")
        .WithHint("use it under 'requirements'");
  }
  if (pin.package != facts.name && facts.others != nullptr) {
    PTPKG_TRY(const OtherOutputs::Facts other, facts.others->Find(pin.package, pin.exact));
    return MakePin(pin, other.version, other.build_string);
  }
  if (pin.package != facts.name) {
    return InvalidCall(fmt::format("'{}' is not an output of this recipe", pin.package))
        .WithHint(
            fmt::format("the only output is '{}'; write a version of '{}' instead", facts.name, pin.package));
  }
  return MakePin(pin, facts.version, facts.build_string);
}

Result<Value> PinCompatible(const CallArguments& arguments, Scope& scope) {
  PTPKG_TRY(const PinArguments pin, ReadPin("pin_compatible", arguments));
  const PinFacts& facts = scope.pins();
  if (!facts.host_known) {
    return InvalidCall("pin_compatible() needs the host requirements, which are not known here")
        .WithHint("use it under 'requirements.run', 'run_constraints' or 'run_exports'");
  }
  const auto host = facts.host.find(pin.package);
  if (host == facts.host.end()) {
    return InvalidCall(fmt::format("cannot pin '{}': its version is not known", pin.package))
        .WithHint(fmt::format(
            "add '{0}' with a version to 'requirements.host', or set its version in variants.yaml",
            pin.package));
  }
  if (pin.exact) {
    return InvalidCall(fmt::format("the build string of '{}' is not known before the environment is solved",
                                   pin.package))
        .WithHint("use lower_bound and upper_bound instead of 'exact'");
  }
  return MakePin(pin, host->second, "");
}

Result<Value> EnvGet(const CallArguments& arguments, Scope& scope) {
  PTPKG_CHECK(CheckArguments("env.get", arguments, 1, 2, {"default"}));
  PTPKG_TRY(const std::string name, TextArgument("env.get", arguments.positional[0]));
  if (const auto found = scope.environment().find(name); found != scope.environment().end()) {
    if (!HoldsSecret(name, found->second)) return Value(found->second);
    return InvalidCall(
               fmt::format("recipes cannot read environment variable '{}': by its name it holds a secret",
                           name))
        .WithHint("plans and packages would show it: unset it, or give it another name if it holds none");
  }
  if (const Value* fallback = arguments.Find(1, "default")) return *fallback;
  return InvalidCall(fmt::format("environment variable '{}' is not set", name))
      .WithHint(fmt::format("set it, or write env.get('{}', default='…')", name));
}

Result<Value> EnvExists(const CallArguments& arguments, Scope& scope) {
  PTPKG_CHECK(CheckArguments("env.exists", arguments, 1, 1, {}));
  PTPKG_TRY(const std::string name, TextArgument("env.exists", arguments.positional[0]));
  return Value(scope.environment().contains(name));
}

Result<Value> IsPlatform(const std::string& function, std::initializer_list<std::string_view> families,
                         const CallArguments& arguments) {
  PTPKG_CHECK(CheckArguments(function, arguments, 1, 1, {}));
  PTPKG_TRY(const std::string platform, TextArgument(function, arguments.positional[0]));
  const std::string family = PlatformFamily(platform);
  return Value(std::find(families.begin(), families.end(), family) != families.end());
}

Result<Value> IsLinux(const CallArguments& arguments, Scope& /*scope*/) {
  return IsPlatform("is_linux", {"linux"}, arguments);
}
Result<Value> IsOsx(const CallArguments& arguments, Scope& /*scope*/) {
  return IsPlatform("is_osx", {"osx"}, arguments);
}
Result<Value> IsUnix(const CallArguments& arguments, Scope& /*scope*/) {
  return IsPlatform("is_unix", {"linux", "osx", "emscripten"}, arguments);
}
Result<Value> IsWin(const CallArguments& arguments, Scope& /*scope*/) {
  return IsPlatform("is_win", {"win"}, arguments);
}

struct Function {
  std::string_view name;
  Result<Value> (*call)(const CallArguments&, Scope&);
};

constexpr std::array<Function, 17> kFunctions = {{
    {"cdt", Cdt},
    {"compiler", Compiler},
    {"detected", Detected},
    {"env.exists", EnvExists},
    {"env.get", EnvGet},
    {"fail", Fail},
    {"is_linux", IsLinux},
    {"is_osx", IsOsx},
    {"is_unix", IsUnix},
    {"is_win", IsWin},
    {"is_windows", IsWin},
    {"load_from_file", LoadFromFile},
    {"match", Match},
    {"pin_compatible", PinCompatible},
    {"pin_subpackage", PinSubpackage},
    {"row_for", Row},
    {"stdlib", Stdlib},
}};

}  // namespace

const Value* CallArguments::Find(std::size_t index, std::string_view name) const {
  if (index < positional.size()) return &positional[index];
  const auto found =
      std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.first == name; });
  return found == named.end() ? nullptr : &found->second;
}

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  names.reserve(kFunctions.size());
  for (const Function& function : kFunctions) names.emplace_back(function.name);
  return names;
}

Result<Value> CallFunction(const std::string& name, const CallArguments& arguments, Scope& scope) {
  const auto* function =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return f.name == name; });
  PTPKG_ASSERT(function != kFunctions.end());
  return function->call(arguments, scope);
}

}  // namespace ptpkg::recipe
