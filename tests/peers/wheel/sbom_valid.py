"""The bill of materials in a recipe's wheel is CycloneDX 1.6 by the strict validator of its Python library, and says what the
wheel was made of. Exit 77 is a skip.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

from repository import FIXTURES


class Sbom(unittest.TestCase):
    ptpkg: pathlib.Path

    def wheel(self, folder: pathlib.Path, output: str) -> pathlib.Path:
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "PTPKG_CACHE_DIR": str(folder / "cache")}
        done = subprocess.run([self.ptpkg, "build", FIXTURES / "toymagma", FIXTURES / "toytorch", "--select", "toy_backend=cpu", "--output",
                               folder / output, "--test", "skip", "--quiet"], env=env, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return next((folder / output / "wheels").glob("toytorch-*.whl"))

    def test_a_recipes_wheel(self):
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
        with tempfile.TemporaryDirectory(prefix="ptpkg-peers-") as scratch:
            wheel = self.wheel(pathlib.Path(scratch), "dist")
            with zipfile.ZipFile(wheel) as archive:
                name, = (name for name in archive.namelist() if "/sboms/" in name)
                text = archive.read(name).decode()
        self.assertTrue(name.endswith(".dist-info/sboms/ptpkg.cdx.json"))
        self.assertIsNone(JsonStrictValidator(SchemaVersion.V1_6).validate_str(text))
        document = json.loads(text)
        self.assertEqual(document["metadata"]["component"]["name"], "toytorch")
        self.assertRegex(document["serialNumber"], "^urn:uuid:")
        self.assertNotIn("timestamp", document["metadata"])
        self.assertTrue(document["components"])
        made_with = {tool["name"]: tool.get("version") for tool in document["formulation"][0]["components"]}
        compilers = {name for name in made_with if name in ("g++", "c++", "clang++")}
        self.assertTrue(compilers, made_with)
        for name in compilers:
            said = subprocess.run([name, "--version"], text=True, capture_output=True, check=True).stdout
            self.assertIn(made_with[name], said.splitlines()[0])
        self.assertRegex(made_with["python"], r"^3\.[0-9]+\.")
        for component in document["components"]:
            for entry in component.get("hashes", ()):
                self.assertEqual(len(entry["content"]), hashlib.sha256().digest_size * 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True)
    Sbom.ptpkg = parser.parse_args().ptpkg.resolve()
    try:
        import cyclonedx.validation.json  # noqa: F401
    except ImportError:
        print("skipped: cyclonedx-python-lib is missing")
        return 77
    result = unittest.main(argv=[sys.argv[0]], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
