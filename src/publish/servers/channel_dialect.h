#pragma once
// API differences of quetz, Artifactory and prefix.dev. Layer: publish.

#include <string>
#include <vector>

#include "publish/auth/credential.h"
#include "publish/http/exchange.h"
#include "publish/servers/channel_servers.h"

namespace ptpkg::publish {

struct ChannelDialect {
  std::string name;                    ///< For people.
  std::vector<std::string> variables;  ///< Environment variables that may hold the token.
  std::string token_header;
  std::string token_prefix;  ///< Before the token in that header.
  /// URL path of a channel's files, below the server.
  std::string (*files)(const ChannelPlace& place);
  Request (*send)(const ChannelPlace& place, const Upload& upload, bool replace);
  bool takes_attestations = false;  ///< CEP 27; `send` sends them.
  /// URL path whose DELETE removes a file.
  std::string (*removal)(const ChannelPlace& place, const ArtifactId& artifact);
  /// A token for a CI job that the server trusts; null: not supported.
  TrustedToken* trusted = nullptr;
  /// URL path whose answer has "size_limit" and perhaps "size" of a channel, in bytes; null: none.
  std::string (*room)(const ChannelPlace& place) = nullptr;
};

const ChannelDialect& QuetzDialect();
const ChannelDialect& ArtifactoryDialect();
const ChannelDialect& PrefixDevDialect();

/// Finds the token of the server, and has the exchange send it. Errors: any from TokenFrom.
Result<void> LogInTo(const ChannelDialect& dialect, const ChannelPlace& place, Exchange& exchange);

}  // namespace ptpkg::publish
