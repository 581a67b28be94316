// CopyAttributesOnDisk. Layer: support. Source: xattr(7), acl(5), capabilities(7).

#include "support/files/os_attributes.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/core.h>
#include <linux/limits.h>
#include <string>
#include <sys/xattr.h>
#include <vector>

namespace ptpkg {
namespace {

constexpr const char* kAccessList = "system.posix_acl_access";

/// Capabilities are taken away by the kernel when a file is written; the other two are digests of its
/// content.
constexpr std::array<std::string_view, 3> kEndWithAChange = {"security.capability", "security.ima",
                                                             "security.evm"};

Error AttributeError(std::string_view what, std::string_view name, const AbsPath& path) {
  return ErrnoError(errno, fmt::format("cannot {} the attribute '{}' of '{}'", what, name, path.str()));
}

bool HasNoAttributes(int sys_errno) { return sys_errno == ENOTSUP || sys_errno == ENOSYS; }

/// Attributes that not everybody may set: labels of security modules, those of root, NFS's own lists.
bool IsPrivileged(std::string_view name) { return !name.starts_with("user.") && name != kAccessList; }

Result<std::vector<std::string>> ListNames(const AbsPath& path) {
  // The kernel's own limit (64 KiB), so that one call is enough even if others add names at the same time.
  std::string buffer(XATTR_LIST_MAX, '\0');
  const ssize_t size = ::llistxattr(path.c_str(), buffer.data(), buffer.size());
  if (size < 0 && HasNoAttributes(errno)) return std::vector<std::string>();
  if (size < 0) return ErrnoError(errno, fmt::format("cannot list the attributes of '{}'", path.str()));
  std::vector<std::string> names;
  for (std::size_t at = 0; at < static_cast<std::size_t>(size); at += names.back().size() + 1) {
    names.emplace_back(buffer.c_str() + at);
  }
  return names;
}

Result<void> CopyOne(const std::string& name, const AbsPath& from, const AbsPath& to) {
  std::string value(XATTR_SIZE_MAX, '\0');
  const ssize_t size = ::lgetxattr(from.c_str(), name.c_str(), value.data(), value.size());
  if (size < 0) {
    if (IsPrivileged(name) || errno == ENODATA) return Ok();
    return AttributeError("read", name, from);
  }
  if (::lsetxattr(to.c_str(), name.c_str(), value.data(), static_cast<std::size_t>(size), 0) != 0 &&
      !IsPrivileged(name)) {
    return AttributeError("set", name, to);
  }
  return Ok();
}

}  // namespace

Result<void> CopyAttributesOnDisk(const AbsPath& from, const AbsPath& to) {
  PTPKG_TRY(const std::vector<std::string> names, ListNames(from));
  for (const std::string& name : names) {
    if (std::find(kEndWithAChange.begin(), kEndWithAChange.end(), name) != kEndWithAChange.end()) continue;
    PTPKG_CHECK(CopyOne(name, from, to));
  }
  const bool has_list = std::find(names.begin(), names.end(), kAccessList) != names.end();
  // A new file inherits the default access list of its directory. Without this, the copy would grant what the
  // original does not.
  if (has_list || ::lremovexattr(to.c_str(), kAccessList) == 0) return Ok();
  if (errno == ENODATA || HasNoAttributes(errno)) return Ok();
  return AttributeError("remove", kAccessList, to);
}

}  // namespace ptpkg
