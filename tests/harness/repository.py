"""Where this repository lies, for all tests in Python. CMake puts the folder of this file on PYTHONPATH."""

import pathlib

MODULES = pathlib.Path(__file__).resolve().parent
REPOSITORY = MODULES.parents[1]
FIXTURES = REPOSITORY / "fixtures"
