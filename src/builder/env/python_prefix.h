#pragma once
// A build's own Python below its prefix, made of an interpreter of the machine. Layer: builder.
// Source: PEP 405 (pyvenv.cfg); site.py of CPython.

#include <vector>

#include "builder/env/python.h"

namespace ptpkg::builder {

struct PythonPrefix {
  Python python;                 ///< `executable` is <prefix>/bin/python.
  std::vector<RelPath> helpers;  ///< Files put into the prefix for it; none of them belongs into a package.
};

/// Makes `prefix` a virtual environment of `base` that sees all packages of `base`: whatever a script
/// installs by `python -m pip`, `pip` or `setup.py` lands in `prefix`, in lib/pythonX.Y/site-packages also
/// under Debian's Python, and pip can take nothing away from `base`. Made without the modules venv and
/// ensurepip, which Debian packages apart. Errors: kCommandFailed when `base` does not work that way,
/// kAlreadyExists, kIo, kCancelled.
Result<PythonPrefix> MakePythonPrefix(Env& env, const Python& base, const AbsPath& prefix);

}  // namespace ptpkg::builder
