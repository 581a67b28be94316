#pragma once
// Uploads to quetz, Artifactory and prefix.dev. Layer: publish. Requests as rattler's uploader makes them
// (docs/publishing.md shows them).

#include "publish/remote.h"

namespace ptpkg::publish {

struct ChannelPlace {
  std::string server = {};   ///< Base URL, without '/' at its end.
  std::string channel = {};  ///< May hold '/' (Artifactory: repository and directories).
};

// Errors of all: kInvalidInput (no URL).
Result<std::unique_ptr<Remote>> MakeQuetz(Env& env, ChannelPlace place);
Result<std::unique_ptr<Remote>> MakeArtifactory(Env& env, ChannelPlace place);
Result<std::unique_ptr<Remote>> MakePrefixDev(Env& env, ChannelPlace place);

}  // namespace ptpkg::publish
