#include "support/process/shared_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

namespace ptpkg {

Result<SharedLibrary> SharedLibrary::Load(const char* name) {
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(handle, name);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the text is the thread's own in glibc
  return Error(ErrorCode::kUnsupported, fmt::format("cannot load '{}': {}", name, ::dlerror()))
      .WithHint(fmt::format("install the package that provides '{}'", name));
}

Result<void*> SharedLibrary::Address(const char* name) const {
  void* const address = ::dlsym(handle_, name);
  if (address != nullptr) return address;
  return Error(ErrorCode::kUnsupported, fmt::format("'{}' has no function '{}'", name_, name))
      .WithHint("install a newer one");
}

}  // namespace ptpkg
