#pragma once
// Runs container engines: buildah, podman, docker. Layer: pipeline.

#include <string>
#include <vector>

#include "support/env.h"

namespace ptpkg::pipeline {

/// Settings of a run command.
struct ProgramOptions {
  std::string shm_size = {};  ///< "": the engine's default.
  bool gpus = false;
};

class Engine {
 public:
  /// "buildah", "podman" or "docker", or "auto": the first of these that works. `env` is borrowed. Errors:
  /// kNotFound (not installed), kIo (it refuses this user, or its daemon does not run).
  static Result<Engine> Find(Env& env, const std::string& name);

  /// Builds the stage of <context>/Containerfile; returns the sha256 that is the image's id. It has no name
  /// yet. The engine removes its containers, and keeps its cache. Errors: kInvalidInput for the base does not
  /// fit (lines "ptpkg: …" of the Containerfile), kIo (full disk), kCommandFailed.
  [[nodiscard]] Result<std::string> Build(const AbsPath& context, const std::string& stage) const;
  /// Builds the stage and copies its files to `to`, an empty directory. Errors: as Build.
  [[nodiscard]] Result<void> Extract(const AbsPath& context, const std::string& stage,
                                     const AbsPath& to) const;
  /// Names the image. Errors: kCommandFailed.
  [[nodiscard]] Result<void> Tag(const std::string& id, const std::string& name) const;
  /// Digests of the uncompressed layers, the base's first. Errors: kCommandFailed.
  [[nodiscard]] Result<std::vector<std::string>> Layers(const std::string& id) const;
  /// The command that a user runs the image with.
  [[nodiscard]] std::string RunLine(const std::string& image, const ProgramOptions& options) const;

 private:
  Engine(Env& env, std::string name, AbsPath program)
      : env_(&env), name_(std::move(name)), program_(std::move(program)) {}

  Result<std::string> Run(const std::vector<std::string>& arguments, const std::string& subject) const;
  [[nodiscard]] std::vector<std::string> BuildArguments(const AbsPath& context,
                                                        const std::string& stage) const;

  Env* env_;
  std::string name_;
  AbsPath program_;
};

}  // namespace ptpkg::pipeline
