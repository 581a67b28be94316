#pragma once
// A small wheel project on disk, and wheels made wrong on purpose.

#include <map>
#include <string>

#include "support/test_env.h"
#include "wheel/wheel.h"

namespace ptpkg::wheel {

/// "toy" 1.0+cpu: a module, a library, a script and a symlink.
class ToyProject {
 public:
  explicit ToyProject(Env& env, const test::TempDir& dir);

  [[nodiscard]] WheelInput Input() const;
  /// Writes it into `<dir>/out`.
  Result<Artifact> Write(Env& env, const WheelOptions& options = {}) const {
    return WriteWheel(env, Input(), out_, options);
  }

  CoreMetadata metadata;
  Tag tag{"cp311", "cp311", "linux_x86_64"};
  std::string entry_points = "[console_scripts]\ntoy = toy:main\n";
  std::map<std::string, std::string> dist_info = {{"licenses/LICENSE", "text\n"}, {"top_level.txt", "toy\n"}};
  StagedTree tree;
  [[nodiscard]] const AbsPath& out() const { return out_; }

 private:
  AbsPath out_;
};

/// A zip with exactly these members, in this order, without any rule of wheels.
AbsPath WriteRawZip(Env& env, const AbsPath& path,
                    const std::vector<std::pair<std::string, std::string>>& members);

/// The members of a minimal valid wheel "toy-1.0-py3-none-any.whl", RECORD included.
std::vector<std::pair<std::string, std::string>> MinimalMembers();
/// The RECORD text that fits `members`; its own row for `record_path`.
std::string RecordOf(const std::vector<std::pair<std::string, std::string>>& members,
                     const std::string& record_path);

}  // namespace ptpkg::wheel
