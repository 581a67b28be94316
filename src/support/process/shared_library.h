#pragma once
// Loads a shared library on demand. Layer: support, private to it.

#include "support/result.h"

namespace ptpkg {

class SharedLibrary {
 public:
  /// Loads `name`, as the dynamic linker would find it. Errors: kUnsupported with the linker's reason.
  static Result<SharedLibrary> Load(const char* name);

  /// Puts the address of the function called `name` into `function`. Errors: kUnsupported.
  template <class Function>
  Result<void> Find(const char* name, Function& function) const {
    PTPKG_TRY(void* const address, Address(name));
    function = reinterpret_cast<Function>(address);
    return Ok();
  }

 private:
  SharedLibrary(void* handle, const char* name) : handle_(handle), name_(name) {}
  Result<void*> Address(const char* name) const;

  void* handle_;
  const char* name_;
};

}  // namespace ptpkg
