#pragma once
// Names visible to a recipe's expressions. Layer: recipe.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "recipe/document/value.h"

namespace ptpkg::recipe {

/// Keys of variants are names in which '-' and '.' became '_' (CEP 13).
std::string NormalizedKey(std::string_view key);

/// The values of one variant. Implemented by variant/, which notes what is read: the keys that a
/// recipe reads are the ones its build hash covers.
class VariantValues {
 public:
  virtual ~VariantValues() = default;
  /// The value of `key` in this variant, nullopt if the variant files do not have NormalizedKey(key).
  virtual std::optional<Value> Read(const std::string& key) = 0;
  /// Notes that a built-in name with the same effect was read ("build_platform").
  virtual void NoteBuiltin(const std::string& key, const Value& value) = 0;
  /// All keys of the variant files.
  [[nodiscard]] virtual std::vector<std::string> Keys() const = 0;
};

/// The other outputs of a recipe, for pin_subpackage(). Implemented by variant/.
class OtherOutputs {
 public:
  struct Facts {
    std::string version;
    std::string build_string;  ///< Only of an exact pin.
  };
  virtual ~OtherOutputs() = default;
  /// The output `name` in the current variant. `exact`: the build matters too, and the asking output's hash
  /// covers it. Errors: kInvalidInput for an unknown or skipped output, and for outputs that pin each other
  /// exactly.
  virtual Result<Facts> Find(const std::string& name, bool exact) = 0;
};

/// Facts for pin_subpackage() and pin_compatible(). Filled in as the recipe is evaluated.
struct PinFacts {
  std::string name;  ///< "" until `package` is evaluated.
  std::string version;
  std::string build_string;                 ///< "" until known.
  std::map<std::string, std::string> host;  ///< Version of each host requirement that names one.
  bool host_known = false;                  ///< `requirements.host` is evaluated.
  OtherOutputs* others = nullptr;           ///< Borrowed; null for a recipe of one package.
};

/// Versions that the build's tools report, by the names of detected(); nullopt: not looked up yet.
using DetectedVersions = std::optional<std::map<std::string, std::string>>;
/// Result of detected() then.
inline constexpr const char* kNotDetected = "0.0.0";

class DataFiles;

/// Looks names up: in `context`, then the variant, then the platform, then, if exposed, the build
/// environment.
class Scope {
 public:
  /// `variants` and `environment` are borrowed for the life of the scope.
  Scope(std::string target_platform, VariantValues& variants,
        const std::map<std::string, std::string>& environment)
      : target_platform_(std::move(target_platform)), variants_(variants), environment_(environment) {}

  /// Adds or replaces a name of `context`.
  void Define(const std::string& name, Value value) { defined_.insert_or_assign(name, std::move(value)); }
  /// The names that Define has added, for Restore.
  [[nodiscard]] std::map<std::string, Value> Defined() const { return defined_; }
  void Restore(std::map<std::string, Value> defined) { defined_ = std::move(defined); }

  /// Makes the names of the build environment known or not: "PREFIX" has the value "${PREFIX}", which a shell
  /// expands. At first, none is known.
  void ExposeScriptVariables(bool known) { script_variables_ = known; }

  /// Sets the versions that detected() returns; null: it must not be called. Borrowed.
  void SetDetectedVersions(const DetectedVersions* versions) { detected_ = versions; }
  /// Errors (without span): kInvalidInput for a name that detected() does not have, for a call that is not
  /// allowed here, and for a tool that the build does not have.
  [[nodiscard]] Result<Value> Detected(const std::string& name);
  /// The names passed to Detected.
  [[nodiscard]] const std::set<std::string>& detects() const { return detects_; }

  /// Sets the files of load_from_file(); null: there are none. Borrowed.
  void SetDataFiles(DataFiles* files) { files_ = files; }
  /// Errors: any from DataFiles::Load, kInvalidInput where no files are known.
  [[nodiscard]] Result<Value> Load(const std::string& name);
  /// The names passed to Load.
  [[nodiscard]] const std::set<std::string>& loads() const { return loads_; }

  /// Counts a value that an expression made, so that a short recipe cannot fill the memory. Errors (without
  /// span): kInvalidInput for one above limits::kValue, and once all of this scope are above
  /// limits::kEvaluation.
  [[nodiscard]] Result<void> Spend(const Value& value);
  /// Counts a new value with all that its mappings hold. Errors: kInvalidInput once all of this
  /// scope are above limits::kEvaluation.
  [[nodiscard]] Result<Value> Keep(Value value);

  [[nodiscard]] std::optional<Value> Find(const std::string& name);
  /// Every name that Find knows, for "did you mean".
  [[nodiscard]] std::vector<std::string> Names() const;

  [[nodiscard]] const std::string& target_platform() const { return target_platform_; }
  [[nodiscard]] VariantValues& variants() { return variants_; }
  [[nodiscard]] const std::map<std::string, std::string>& environment() const { return environment_; }
  [[nodiscard]] PinFacts& pins() { return pins_; }

 private:
  [[nodiscard]] Result<void> SpendBytes(std::size_t bytes);
  [[nodiscard]] std::optional<Value> FindPlatformName(const std::string& name);

  std::string target_platform_;
  VariantValues& variants_;
  const std::map<std::string, std::string>& environment_;
  std::map<std::string, Value> defined_;
  bool script_variables_ = false;
  std::size_t spent_bytes_ = 0;
  const DetectedVersions* detected_ = nullptr;
  std::set<std::string> detects_;
  DataFiles* files_ = nullptr;
  std::set<std::string> loads_;
  PinFacts pins_;
};

/// The value that a name of the platform has in expressions: "linux", "unix", "x86_64", "target_platform" …;
/// nullopt for any other name.
std::optional<Value> PlatformValue(const std::string& name, const std::string& platform);

/// "linux", "osx", "win" or "emscripten" of "linux-64"; the part before the '-'.
std::string PlatformFamily(std::string_view platform);

/// The CPU of a conda platform as recipes name it: "x86_64" of "linux-64", "aarch64" of "linux-aarch64".
std::string PlatformArchitecture(std::string_view platform);

}  // namespace ptpkg::recipe
