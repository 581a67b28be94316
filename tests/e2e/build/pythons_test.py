"""One recipe built by every interpreter of the machine: tags with their ABI flags, folders, and the import.

Interpreters are those called python3.N on PATH and those of a version manager in ~/.pyenv. An extension module is
compiled with what the interpreter says of itself, packed as a wheel, and installed by the interpreter's own pip.
"""

import json
import os
import pathlib
import shutil
import subprocess
import zipfile

import harness

RECIPE = """\
schema_version: 1
package: {name: ancient, version: "1.0"}
source: {path: src}
build:
  number: 0
  script: |
    "$PYTHON" make_wheel.py
    "$PYTHON" -m pip install --no-compile --prefix "$PREFIX" ancient-*.whl
requirements:
  build: ["${{ compiler('c') }}"]
  host: [python, pip]
  run: [python]
tests:
  - python: {imports: [ancient], pip_check: false}
  - script: ["python -c 'import ancient; assert ancient.answer() == 42'"]
about: {license: MIT, license_file: LICENSE}
extra:
  ptpkg:
    formats: [conda, wheel]
    allow_unresolved: ["libpython3*"]  # interpreters below 3.8 that are a library are linked to
"""

MAKE_WHEEL = """\
import os, subprocess, sys, sysconfig, zipfile
tag = 'cp%d%d' % sys.version_info[:2]
tag = '%s-%s%s-linux_x86_64' % (tag, tag, sys.abiflags)
module = 'ancient' + sysconfig.get_config_var('EXT_SUFFIX')
include = sysconfig.get_path('include').replace(sys.prefix, sys.base_prefix)
subprocess.check_call(['gcc', '-shared', '-fPIC', '-I' + include, 'ancient.c', '-o', module])
info = 'ancient-1.0.dist-info/'
texts = {info + 'METADATA': 'Metadata-Version: 2.1\\nName: ancient\\nVersion: 1.0\\n',
         info + 'WHEEL': 'Wheel-Version: 1.0\\nGenerator: make_wheel\\nRoot-Is-Purelib: false\\nTag: %s\\n' % tag}
with zipfile.ZipFile('ancient-1.0-%s.whl' % tag, 'w') as wheel:
    wheel.write(module)
    for name, text in sorted(texts.items()):
        wheel.writestr(name, text)
    wheel.writestr(info + 'RECORD', ''.join('%s,,\\n' % name for name in wheel.namelist() + [info + 'RECORD']))
"""

MODULE = """\
#include <Python.h>
static PyObject* answer(PyObject* self, PyObject* none) { return (void)self, (void)none, PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {0, 0, 0, 0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "ancient", 0, -1, methods, 0, 0, 0, 0};
PyMODINIT_FUNC PyInit_ancient(void) { return PyModule_Create(&module); }
"""

ASK = """\
import json, pip, sys, sysconfig, os
include = sysconfig.get_path('include')
assert os.path.exists(os.path.join(include, 'Python.h'))
print(json.dumps([sys.version_info[:2], getattr(sys, 'abiflags', ''), os.path.basename(sysconfig.get_path('stdlib')),
                  sysconfig.get_config_var('EXT_SUFFIX')]))
"""


def interpreters() -> dict[pathlib.Path, list]:
    """Those with pip and headers, by path: version, ABI flags, folder below lib/, and suffix of modules."""
    candidates = [shutil.which(f"python3.{minor}{flag}") for minor in range(5, 16) for flag in ("", "t")]
    candidates += sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python"))
    found = {}
    for candidate in filter(None, candidates):
        done = subprocess.run([candidate, "-I", "-c", ASK], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            answer = json.loads(done.stdout)
            if answer not in found.values():
                found[pathlib.Path(candidate)] = answer
    return found


class Pythons(harness.Case):
    def test_each_builds_tests_and_installs(self):
        harness.tool("gcc")
        found = interpreters()
        if not found:
            harness.missing("a python3 with pip and its headers")
        recipe = self.scratch / "recipe"
        (recipe / "src").mkdir(parents=True)
        (recipe / "recipe.yaml").write_text(RECIPE)
        for name, text in {"make_wheel.py": MAKE_WHEEL, "ancient.c": MODULE, "LICENSE": "MIT\n"}.items():
            (recipe / "src" / name).write_text(text)
        for python, (version, flags, folder, suffix) in found.items():
            with self.subTest(python=python):
                self.build(recipe, python, "{}.{}".format(*version) + flags.replace("m", ""),
                           "cp{}{}".format(*version), flags, f"lib/{folder}/site-packages/ancient{suffix}")

    def build(self, recipe, python, wanted, tag, flags, module):
        (recipe / "variants.yaml").write_text(f'python: ["{wanted}"]\n')
        output = self.scratch / f"out-{wanted}"
        summary = self.ptpkg_json("build", recipe, "--output", output, "--python-exe", python)
        self.assertEqual(len(summary["artifacts"]), 2, summary)
        wheel = output / f"wheels/ancient-1.0-{tag}-{tag}{flags}-linux_x86_64.whl"
        with zipfile.ZipFile(wheel) as members:
            self.assertIn(pathlib.Path(module).name, members.namelist())
        (conda,) = (output / "conda/linux-64").glob("ancient-1.0-*.conda")
        listed = self.ptpkg_json("inspect", conda)
        self.assertIn(module, json.dumps(listed))
        target = self.scratch / f"target-{wanted}"
        subprocess.run([python, "-m", "pip", "-q", "install", "--no-index", "--no-deps", "--target", target, wheel],
                       check=True, env=dict(os.environ, PIP_NO_CACHE_DIR="0"))
        said = subprocess.run([python, "-c", "import ancient; print(ancient.answer())"], check=True, text=True,
                              capture_output=True, env={"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin"})
        self.assertEqual(said.stdout, "42\n")

    def test_one_that_is_too_old_is_refused_by_its_version(self):
        for python in sorted(pathlib.Path.home().glob(".pyenv/versions/2.*/bin/python")):
            (self.scratch / "variants.yaml").write_text('python: ["2.7"]\n')
            (self.scratch / "recipe.yaml").write_text(RECIPE)
            (self.scratch / "src").mkdir()
            done = self.ptpkg("build", self.scratch, "--python-exe", python, exit_code=4)
            self.assertIn("is not a working Python 3.5 or later", done.stderr)
            return
        self.skipTest("no Python 2 in ~/.pyenv")


if __name__ == "__main__":
    harness.main()
