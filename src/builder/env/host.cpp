// The order in which a host prefix is filled, because each step needs the one before. First a conda client
// makes both prefixes, since clients refuse an existing directory, or wheels become the build's tools. Then
// packages of our channel are unpacked on top. Python comes last: a package or the client may have brought
// one, and only otherwise the machine's interpreter becomes the prefix's own. Wheels of the host follow it,
// because pip needs that Python.
//
// With wheels, the directory of the build's Python packages comes first among those that the script's Python
// sees, so that pinned versions win over the machine's.

#include "builder/env/host.h"

#include <fmt/core.h>

#include "builder/env/python_prefix.h"
#include "builder/pip/wheel_prefix.h"
#include "builder/tools/conda_client.h"
#include "support/assert.h"

namespace ptpkg::builder {

Result<HostPrefix> HostPrefix::Create(Env& env, const HostPrefixInput& input) {
  HostPrefix host(env, input);
  if (input.plan.host_env == HostEnv::kConda) PTPKG_CHECK(host.CreateConda());
  if (input.plan.wheels) PTPKG_CHECK(host.InstallWheels());
  return host;
}

Result<void> HostPrefix::CreateConda() {
  PTPKG_ASSERT(input_->plan.client.has_value());
  const AbsPath& client = *input_->plan.client;
  const WorkLayout& layout = input_->layout;
  PTPKG_CHECK(CreateCondaPrefix(*env_, client, {.prefix = layout.build_prefix, .specs = input_->plan.build},
                                input_->log_file));
  PTPKG_CHECK(CreateCondaPrefix(*env_, client, {.prefix = layout.prefix, .specs = input_->plan.host},
                                input_->log_file));
  PTPKG_CHECK(env_->fs.MakeDirs(layout.build_prefix));
  PTPKG_CHECK(env_->fs.MakeDirs(layout.prefix));
  PTPKG_TRY([[maybe_unused]] const bool found, UsePrefixPython());
  // Compilers of conda channels are switched on by these; each knows where it lies.
  preamble_ = R"sh(for prefix in "$BUILD_PREFIX" "$PREFIX"; do
  for file in "$prefix"/etc/conda/activate.d/*.sh; do
    if [ -e "$file" ]; then CONDA_PREFIX="$prefix" . "$file"; fi
  done
done
)sh";
  return Ok();
}

Result<void> HostPrefix::InstallWheels() {
  const WheelPlan& plan = *input_->plan.wheels;
  PTPKG_CHECK(
      InstallBuildWheels(*env_, {.plan = plan, .layout = input_->layout, .log_file = input_->log_file}),
      "while installing wheels from the Python index");
  for (const WheelProgram& program : plan.programs) {
    const AbsPath& prefix = program.in_host ? input_->layout.prefix : input_->layout.build_prefix;
    tools_.tools.push_back(
        {.requirement = program.requirement, .path = prefix / program.path, .variable = program.variable});
  }
  return Ok();
}

Result<bool> HostPrefix::UsePrefixPython() {
  const AbsPath python = input_->layout.prefix / "bin/python";
  PTPKG_TRY(const bool there, Exists(env_->fs, python));
  if (!there) return false;
  PTPKG_TRY(tools_.python, ProbePython(*env_, python, {"pip"}));
  return true;
}

Result<void> HostPrefix::Unpack(const LocalPackage& package) {
  PTPKG_ASSERT(input_->unpack != nullptr);
  PTPKG_CHECK(env_->cancel.Check());
  const UnpackInto into{.prefix = input_->layout.prefix,
                        .python_version = tools_.python ? tools_.python->LibraryVersion() : std::string()};
  PTPKG_CHECK(input_->unpack(*env_, package.path, into),
              fmt::format("while unpacking '{}' into the host prefix", package.path.Name()));
  return Ok();
}

Result<void> HostPrefix::FinishPython() {
  PTPKG_CHECK(CreatePython());
  if (!input_->plan.wheels) return Ok();
  const bool own = tools_.python && tools_.python->is_virtual;
  return InstallHostWheels(
      *env_, {.plan = *input_->plan.wheels, .layout = input_->layout, .log_file = input_->log_file},
      own ? std::optional<AbsPath>(tools_.python->executable) : std::nullopt);
}

Result<void> HostPrefix::CreatePython() {
  PTPKG_TRY(const bool brought, UsePrefixPython());
  if (brought || !tools_.python) return Ok();
  Python base = *tools_.python;
  if (input_->plan.wheels) {
    const auto folder = BuildPackagesFolder(
        {.plan = *input_->plan.wheels, .layout = input_->layout, .log_file = input_->log_file});
    if (folder) base.package_folders.insert(base.package_folders.begin(), folder->str());
  }
  PTPKG_TRY(PythonPrefix made, MakePythonPrefix(*env_, base, input_->layout.prefix));
  tools_.python = std::move(made.python);
  helpers_ = std::move(made.helpers);
  return Ok();
}

}  // namespace ptpkg::builder
