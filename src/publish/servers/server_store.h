#pragma once
// Removal and copies at quetz, Artifactory and prefix.dev. Layer: publish. Sources: quetz 2024-04 (main.py),
// JFrog's REST documentation ("Delete Item", "Copy Item", "Move Item"), what users of prefix.dev's delete API
// send (docs/publishing.md shows it).

#include "publish/artifact_store.h"
#include "publish/servers/channel_servers.h"

namespace ptpkg::publish {

// `to`: the other repository, of kCopy and kMove; "" = none. Errors of all: kInvalidInput (no URL).
Result<std::unique_ptr<Store>> MakeQuetzStore(Env& env, ChannelPlace place);
Result<std::unique_ptr<Store>> MakePrefixDevStore(Env& env, ChannelPlace place);
Result<std::unique_ptr<Store>> MakeArtifactoryStore(Env& env, ChannelPlace place, std::string to);

}  // namespace ptpkg::publish
