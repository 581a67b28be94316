#pragma once
// Escapes untrusted text and masks credentials for terminals. Layer: support.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/limits.h"

namespace ptpkg {

/// One line of a program, archive or server, safe to show: without anything that a terminal would act on.
/// Removes escape sequences (ECMA-48: CSI, OSC, DCS and similar), control characters except tabs, and
/// characters that change the direction of writing. Bytes that are not UTF-8 become "\xNN". If carriage
/// returns overwrite a line, as progress bars do, the last state stays. A line above `max_bytes` loses its
/// middle: "… (398000 bytes) …".
std::string DisplayLine(std::string_view line, std::size_t max_bytes = limits::kShownLine);

/// Several lines: each as above.
std::string DisplayText(std::string_view text);

/// A part of a text, in bytes.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The ranges between "://" and the last '@' of a URL's authority, for every URL in `text`: a user and a
/// password, or a token. A user alone before ssh, "ssh://git@host", is not a secret. "${{ … }}" can be a
/// part. Source: RFC 3986, 3.2.1.
std::vector<TextRange> CredentialsIn(std::string_view text);

inline constexpr std::string_view kCredentialMask = "****";

/// `text` with kCredentialMask in place of each: "https://****@host/x".
std::string MaskCredentials(std::string_view text);

/// `text` without credentials: "https://host/x". For URLs that are used again, with credentials from another
/// place.
std::string DropCredentials(std::string_view text);

}  // namespace ptpkg
