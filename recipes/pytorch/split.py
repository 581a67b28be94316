"""The two halves of a split build of torch.yaml, in its work folder.

split.py native: installs the C++ part of the wheel in dist/ where C++ projects look for it, below $PREFIX.
split.py python: in the installed torch, links to those files take the place of the copies of the wheel.
"""

import filecmp
import os
import shutil
import subprocess
import sys

PARTS = ("bin", "include", "lib", "share")
# Both halves have it: Python loads it by its path, and it must find the libraries of $PREFIX/lib from there.
TWICE = "libtorch_global_deps.so"


def files(folder):
    """Paths of the files below `folder`, relative to it."""
    for place, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(place, name), folder)


def of_python(name):
    """These are linked to libpython's symbols, which differ from Python to Python."""
    return name.endswith(".py") or os.path.basename(name).startswith(("libtorch_python", "libnnapi_backend"))


def native(prefix):
    place = os.path.abspath("native")
    shutil.rmtree(place, ignore_errors=True)
    wheels = [os.path.join("dist", name) for name in os.listdir("dist") if name.startswith("torch-")]
    subprocess.check_call([sys.executable, "-m", "pip", "install", *wheels, "--no-deps", "--no-index", "--no-compile", "--target", place])
    for part in PARTS:
        folder = os.path.join(place, "torch", part)
        for name in files(folder):
            if not of_python(name):
                target = os.path.join(prefix, part, name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy2(os.path.join(folder, name), target)
    shutil.rmtree(place)


def python(prefix, site_packages):
    for part in PARTS:
        folder = os.path.join(site_packages, "torch", part)
        for name in files(folder):
            link, target = os.path.join(folder, name), os.path.join(prefix, part, name)
            if not os.path.exists(target) or os.path.basename(name) == TWICE:
                continue
            if not filecmp.cmp(link, target, shallow=False):
                if part in ("bin", "lib"):
                    sys.exit("split.py: this Python's build made another '%s' than the native part has" % os.path.join(part, name))
                continue  # a header that names its Python
            os.remove(link)
            os.symlink(os.path.relpath(target, os.path.dirname(link)), link)


if __name__ == "__main__":
    if sys.argv[1:] == ["native"]:
        native(os.environ["PREFIX"])
    elif sys.argv[1:] == ["python"]:
        python(os.environ["PREFIX"], os.environ["SP_DIR"])
    else:
        sys.exit("usage: split.py native|python")
