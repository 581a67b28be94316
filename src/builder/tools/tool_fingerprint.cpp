// `ptpkg dev` cannot afford to ask all tools for their versions after each edit. A fingerprint of sizes,
// times and inodes tells whether any answer could have changed. It must cover everything that the answers
// depend on: the tools, headers and Python that were chosen, and also places where another choice could
// appear: the directories of PATH, package directories of Python, and dpkg's status file. Their times change
// when something is installed there.
//
// Only tools of the machine are covered. With a conda client or wheels there is no list of files to look at.

#include "builder/tools/tool_fingerprint.h"

#include <fmt/core.h>

#include "support/digest/hash.h"
#include "support/text/text.h"

namespace ptpkg::builder {

std::vector<std::string> FingerprintedFiles(const Env& env, const HostPlan& plan) {
  std::vector<std::string> files;
  if (plan.host_env != HostEnv::kSystem) return files;
  for (const Tool& tool : plan.tools.tools) {
    files.push_back(tool.path.str());
    if (tool.toolkit && tool.toolkit->host_compiler) files.push_back(tool.toolkit->host_compiler->str());
  }
  for (const AbsPath& header : plan.tools.headers) files.push_back(header.str());
  if (plan.tools.python) {
    const Python& python = *plan.tools.python;
    for (const AbsPath& file : {python.executable, python.base_executable}) files.push_back(file.str());
    for (const std::string& folder : python.package_folders) files.push_back(folder);
  }
  const auto path = env.variables.find("PATH");
  if (path != env.variables.end()) {
    for (const std::string& folder : Split(path->second, ':')) files.push_back(folder);
  }
  files.emplace_back("/var/lib/dpkg/status");
  std::erase_if(files, [](const std::string& file) { return !file.starts_with('/'); });
  return files;
}

Result<std::string> ToolFingerprint(Env& env, const recipe::Recipe& recipe, const HostRequest& request,
                                    const std::vector<std::string>& files) {
  KeyHasher hasher;
  for (const char* name :
       {"PATH", "PTPKG_PYTHON", "PTPKG_CONDA_EXE", "PTPKG_CUDA_HOME", "CUDA_HOME", "CUDA_PATH"}) {
    const auto found = env.variables.find(name);
    hasher.Add(name, found == env.variables.end() ? "" : found->second);
  }
  hasher.Add("env", std::to_string(static_cast<int>(request.host_env)))
      .Add("python", request.options.python)
      .Add("conda", request.options.conda_exe)
      .Add("cuda", request.options.cuda_home);
  for (const auto* specs : {&recipe.requirements.build, &recipe.requirements.host}) {
    hasher.Add("requirements", specs == &recipe.requirements.build ? "build" : "host");
    for (const recipe::MatchSpec& spec : *specs) hasher.Add("spec", spec.str());
  }
  for (const std::string& name : recipe.ptpkg.system_packages) hasher.Add("debian", name);
  for (const std::string& file : files) {
    PTPKG_TRY(const AbsPath path, AbsPath::Parse(file));
    const auto stat = env.fs.Stat(path);
    const bool gone = !stat && stat.error().code() == ErrorCode::kNotFound;
    if (!stat && !gone) return stat.error();
    hasher.Add(
        file, gone ? "gone"
                   : fmt::format("{} {} {} {}", stat->size_bytes, stat->mtime_ns, stat->inode, stat->device));
  }
  return hasher.Finish().Hex();
}

}  // namespace ptpkg::builder
