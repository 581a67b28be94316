"""extra.ptpkg.wheel.repair: a recipe whose plan repairs the wheel, with a library of this machine."""

import harness
import wheel_maker
from wheel_maker import SUFFIX, TAG

SCRIPT = """
      - mkdir -p "$SP_DIR/toy" "$SP_DIR/toy-1.0.dist-info"
      - touch "$SP_DIR/toy/__init__.py"
      - cp {module} "$SP_DIR/toy/"
      - |
        printf 'Metadata-Version: 2.1\\nName: toy\\nVersion: 1.0\\n' > "$SP_DIR/toy-1.0.dist-info/METADATA"
      - |
        printf 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: false\\nTag: {tag}-{tag}-linux_x86_64\\n' > "$SP_DIR/toy-1.0.dist-info/WHEEL"
"""


class RecipeRepair(wheel_maker.WheelCase):
    def build(self, repair: str, **options):
        # A library of this machine that no platform tag has; ptpkg itself is built with it.
        self.module("one", extra="int value(void) { return 42; }", options=["-Wl,--no-as-needed", "-lyaml-cpp"])
        recipe = self.scratch / "recipe"
        recipe.mkdir(exist_ok=True)
        (recipe / "recipe.yaml").write_text(
            "package: {name: toy, version: \"1.0\"}\n"
            "build:\n  script:\n    content:" + SCRIPT.format(tag=TAG, module=self.tree / f"toy/one{SUFFIX}") +
            "requirements: {host: [python]}\nabout: {license: MIT}\nextra:\n  ptpkg:\n    formats: [wheel]\n"
            f"    wheel: {{repair: {repair}}}\n    allow_unresolved: []\n")
        (recipe / "variants.yaml").write_text(f'python: ["{harness.sys.version_info[0]}.{harness.sys.version_info[1]}"]\n')
        return self.ptpkg("build", recipe, "--env", "system", "--output", self.scratch / "dist", **options)

    def test_the_wheel_of_the_plan_is_repaired(self):
        said = self.build("plain").stderr
        wheel, = (self.scratch / "dist/wheels").glob("*.whl")
        self.assertRegex(wheel.name, r"^toy-1\.0-cp\d+-cp\d+-manylinux_2_\d+_x86_64\.whl$")
        self.assertIn("bundles", said)
        self.assertRegex("\n".join(self.names(wheel)), r"toy\.libs/libyaml-cpp-[0-9a-f]{8}\.so\.")
        self.assertRegex(self.dynamic(wheel, f"toy/one{SUFFIX}"), r"NEEDED.*libyaml-cpp-[0-9a-f]{8}\.so")
        self.assertEqual(self.get(self.installed(wheel), "toy.one"), "42")

    def test_a_platform_that_the_files_do_not_satisfy_and_an_unknown_backend_are_refused(self):
        self.assertIn("manylinux_2_17_x86_64", self.build("plain manylinux_2_17_x86_64", exit_code=1).stderr)
        self.assertIn("not for 'windows'", self.build("plain windows", exit_code=3).stderr)
        self.assertIn("did you mean 'pytorch-cpu'?", self.build("pytorch-cpus", exit_code=3).stderr)


if __name__ == "__main__":
    harness.main()
