"""Signed statements and attestations: OpenSSL's command line and Python's cryptography judge what `--sign-key` wrote, and
each kind of target gets what it takes, unchanged.
"""

import base64
import hashlib
import json
import pathlib
import shutil
import subprocess
import tarfile

import harness
import publishing
from publish_s3_test import Bucket
from publishing import Target
from servers.s3_server import Moto

PASSPHRASE = "passphrase-of-the-test"
KEYS = {"ed25519": ["-algorithm", "ed25519"],
        "ec": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"]}
STATEMENT = "https://in-toto.io/Statement/v1"
JUDGE = """
import base64, hashlib, json, sys
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding
artifact, public = sys.argv[1:]
key = serialization.load_pem_public_key(open(public, "rb").read())
def verify(signature, data):
    if isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(signature, data)
    elif isinstance(key, ec.EllipticCurvePublicKey):
        key.verify(signature, data, ec.ECDSA(hashes.SHA256()))
    else:
        key.verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
verify(open(artifact + ".sig", "rb").read(), open(artifact, "rb").read())
envelope = json.load(open(artifact + ".intoto.jsonl"))
payload, kind = base64.b64decode(envelope["payload"], validate=True), envelope["payloadType"]
signature, = envelope["signatures"]
verify(base64.b64decode(signature["sig"]), b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload))
der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
assert signature["keyid"] == hashlib.sha256(der).hexdigest()
print(payload.decode())
"""


def openssl(*arguments, cwd: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run(["openssl", *map(str, arguments)], cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL)


def beside(artifact: pathlib.Path, ending: str) -> pathlib.Path:
    return artifact.with_name(artifact.name + ending)


def statement(artifact: pathlib.Path, predicate_type: str, predicate) -> str:
    subject = {"name": artifact.name, "digest": {"sha256": harness.sha256(artifact)}}
    return base64.b64encode(json.dumps({"_type": STATEMENT, "subject": [subject], "predicateType": predicate_type,
                                        "predicate": predicate}).encode()).decode()


def python_attestation(artifact: pathlib.Path, predicate_type: str) -> dict:
    """In the form of PEP 740; nobody signed it, as a server's double does not ask Sigstore."""
    return {"version": 1, "verification_material": {"certificate": "AAAA", "transparency_entries": [{"logIndex": "1"}]},
            "envelope": {"statement": statement(artifact, predicate_type, None), "signature": "AAAA"}}


def conda_attestation(artifact: pathlib.Path, channel: str) -> dict:
    """In the form of CEP 27, as a Sigstore bundle; nobody signed it."""
    kind = "https://schemas.conda.org/attestations-publish-1.schema.json"
    return {"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {"certificate": {"rawBytes": "AAAA"}},
            "dsseEnvelope": {"payload": statement(artifact, kind, {"targetChannel": channel}),
                             "payloadType": "application/vnd.in-toto+json", "signatures": [{"sig": "AAAA"}]}}


class Case(publishing.Case):
    def setUp(self) -> None:
        super().setUp()
        harness.tool("openssl")
        self.keys = self.scratch / "keys"
        self.keys.mkdir()

    def make_key(self, name: str, *more: str) -> pathlib.Path:
        path = self.keys / f"{name}.pem"
        self.assertEqual(openssl("genpkey", "-out", path, *KEYS[name], *more, cwd=self.keys).returncode, 0)
        path.chmod(0o600)
        done = openssl("pkey", "-in", path, "-passin", f"pass:{PASSPHRASE}", "-pubout", "-out", f"{name}.pub", cwd=self.keys)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def build(self, key: pathlib.Path, output: str = "dist", *arguments, exit_code: int = 0, **variables) -> pathlib.Path:
        self.last = self.ptpkg("build", harness.FIXTURES / "toymagma", "--select", "toy_backend=cpu", "--output",
                               self.scratch / output, "--sign-key", key, *arguments, exit_code=exit_code, **variables)
        return self.scratch / output

    def signed(self) -> pathlib.Path:
        """A signed package in an output folder of its own."""
        output = self.build(self.make_key("ed25519"))
        package, = (output / "conda/linux-64").glob("*.conda")
        return package


class Signing(Case):
    def test_others_verify_what_each_kind_of_key_signed(self):
        python = harness.peers_python()
        for kind in KEYS:
            with self.subTest(kind):
                output = self.build(self.make_key(kind), kind)
                listed = json.loads((output / "manifest.json").read_text())["artifacts"]
                self.assertEqual(sorted(item["format"] for item in listed),
                                 ["conda", "provenance", "provenance", "signature", "signature", "tar.bz2"])
                for item in listed:
                    self.assertEqual(harness.sha256(output / item["path"]), item["sha256"])
                packages = [path for path in (output / "conda/linux-64").iterdir() if path.name.endswith((".conda", ".tar.bz2"))]
                self.assertEqual(len(packages), 2)
                for package in packages:
                    public, signature = self.keys / f"{kind}.pub", beside(package, ".sig")
                    check = (["pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", package, "-sigfile", signature]
                             if kind == "ed25519" else ["dgst", "-sha256", "-verify", public, "-signature", signature, package])
                    done = openssl(*check, cwd=self.scratch)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    judged = subprocess.run([python, "-c", JUDGE, package, public], check=True, capture_output=True, text=True)
                    said = json.loads(judged.stdout)
                    self.assertEqual(said["subject"], [{"name": package.name, "digest": {"sha256": harness.sha256(package)}}])
                    self.assertEqual((said["_type"], said["predicateType"]), (STATEMENT, "https://slsa.dev/provenance/v1"))
                    names = [item["name"] for item in said["predicate"]["buildDefinition"]["resolvedDependencies"]]
                    self.assertIn("recipe/recipe.yaml", names)
                    self.assertNotIn(str(self.scratch), judged.stdout)
                self.ptpkg("check", output, "--verify-key", public)

    def test_statements_say_the_recipe_the_variant_and_the_sources(self):
        package = self.signed()
        envelope = json.loads(beside(package, ".intoto.jsonl").read_text())
        definition = json.loads(base64.b64decode(envelope["payload"]))["predicate"]["buildDefinition"]
        self.assertEqual(definition["buildType"], "urn:ptpkg:build:v1")
        parameters = definition["externalParameters"]
        self.assertEqual((parameters["package"], parameters["version"], parameters["format"]), ("toymagma-cpu", "2.9.0", "conda"))
        self.assertEqual(parameters["variant"]["toy_backend"], "cpu")
        recipe = {"name": "recipe/recipe.yaml", "digest": {"sha256": harness.sha256(harness.FIXTURES / "toymagma/recipe.yaml")}}
        self.assertIn(recipe, definition["resolvedDependencies"])
        self.assertIn("ptpkgSources", {kind for item in definition["resolvedDependencies"] for kind in item["digest"]})

    def test_a_key_with_a_passphrase_and_no_trace_of_either(self):
        key = self.make_key("ed25519", "-aes-256-cbc", "-pass", f"pass:{PASSPHRASE}")
        self.build(key, exit_code=3)
        self.assertIn("PTPKG_SIGN_PASSPHRASE", self.last.stderr)
        self.build(key, exit_code=3, PTPKG_SIGN_PASSPHRASE="other-words")
        self.assertNotIn("other-words", self.last.stderr)
        output = self.build(key, "dist", "--verbose", "--log-format", "json", PTPKG_SIGN_PASSPHRASE=PASSPHRASE)
        printed = self.last.stdout + self.last.stderr
        plan = self.ptpkg("build", harness.FIXTURES / "toymagma", "--sign-key", key, "--plan", "--json",
                          PTPKG_SIGN_PASSPHRASE=PASSPHRASE).stdout
        plain = openssl("pkey", "-in", key, "-passin", f"pass:{PASSPHRASE}", "-outform", "DER", cwd=self.keys).stdout
        secrets = [PASSPHRASE.encode(), plain[-32:], base64.b64encode(plain[-32:]), plain[-32:].hex().encode(),
                   key.read_bytes().splitlines()[1]]
        files = [path for folder in (output, self.cache) for path in folder.rglob("*") if path.is_file()]
        self.assertGreater(len(files), 20)
        for text in [printed.encode(), plan.encode(), *(path.read_bytes() for path in files)]:
            for secret in secrets:
                self.assertNotIn(secret, text)
        self.ptpkg("check", output, "--verify-key", self.keys / "ed25519.pub")

    def test_secrets_are_not_for_recipes_and_their_scripts(self):
        recipe = self.scratch / "asks"
        recipe.mkdir()
        (recipe / "recipe.yaml").write_text("""
schema_version: 1
package: {name: asks, version: "1.0"}
build:
  script:
    - mkdir -p $PREFIX/share && env | cut -d= -f1 > $PREFIX/share/asks
    - echo "recipe ${{ env.get('PTPKG_SIGN_PASSPHRASE', default='unset') }}" >> $PREFIX/share/asks
    - echo "other ${{ env.get('TOKENIZERS', default='unset') }} ${{ env.get('TOKEN_FILE', default='unset') }}" >> $PREFIX/share/asks
about: {license: MIT}
extra: {ptpkg: {formats: [tar.bz2]}}
""")
        key = self.make_key("ed25519", "-aes-256-cbc", "-pass", f"pass:{PASSPHRASE}")
        output = self.scratch / "dist"
        self.ptpkg("build", recipe, "--output", output, "--sign-key", key, PTPKG_SIGN_PASSPHRASE=PASSPHRASE,
                   TOKENIZERS="seen", TOKEN_FILE="place")
        package, = output.rglob("*.tar.bz2")
        with tarfile.open(package) as archive:
            text = archive.extractfile("share/asks").read().decode()
        self.assertIn("recipe unset\nother seen place\n", text)
        self.assertNotIn("PASSPHRASE", text)
        self.assertNotIn(PASSPHRASE, text)
        text = (recipe / "recipe.yaml").read_text()
        (recipe / "recipe.yaml").write_text(text.replace("TOKENIZERS", "AWS_SECRET_ACCESS_KEY"))
        refused = self.ptpkg("build", recipe, "--output", output, AWS_SECRET_ACCESS_KEY="unseen", exit_code=3).stderr
        self.assertIn("recipes cannot read environment variable 'AWS_SECRET_ACCESS_KEY': by its name it holds a secret", refused)
        self.assertNotIn("unseen", refused)

    def test_a_key_without_a_name_is_refused(self):
        """A variable that is not set must not switch off what it was given for."""
        wheel = publishing.pure_wheel(self.scratch)
        said = self.ptpkg("check", wheel, "--verify-key", "", exit_code=2).stderr
        self.assertIn("the value of '--verify-key' is empty", said)
        for verb in (["build", harness.FIXTURES / "toymagma"], ["conda", wheel], ["wheel", harness.FIXTURES / "toymagma"]):
            with self.subTest(verb[0]):
                said = self.ptpkg(*verb, "--output", self.scratch / "dist", "--sign-key", "", exit_code=2).stderr
                self.assertIn("the value of '--sign-key' is empty", said)
                self.assertFalse((self.scratch / "dist").exists())

    def test_the_key_may_be_on_another_machine_than_the_build(self):
        """Nodes of one plan, each run alone: the one that signs has the key, the others never see it."""
        key = self.make_key("ed25519")
        plan = self.scratch / "plan.json"
        output = self.scratch / "dist"
        plan.write_text(self.ptpkg("build", harness.FIXTURES / "toymagma", "--select", "toy_backend=cpu", "--format", "conda",
                                   "--output", output, "--sign-key", key, "--plan", "--json").stdout)
        hidden = self.scratch / "hidden.pem"
        key.rename(hidden)
        for node in json.loads(plan.read_text())["nodes"]:
            if node["stage"] == "sign":
                self.ptpkg("run-node", plan, node["id"], exit_code=4)
                hidden.rename(key)
            self.ptpkg("run-node", plan, node["id"])
            if node["stage"] == "sign":
                key.rename(hidden)
        self.ptpkg("check", output, "--verify-key", self.keys / "ed25519.pub")

    def test_each_wrong_thing_is_one_finding(self):
        package = self.signed()
        public = self.keys / "ed25519.pub"
        envelope, signature, content = beside(package, ".intoto.jsonl"), beside(package, ".sig"), package.read_bytes()
        self.make_key("ec")
        good = envelope.read_bytes()

        def findings(*arguments, exit_code: int = 1) -> list[str]:
            done = self.ptpkg("check", package, "--json", *arguments, exit_code=exit_code)
            return [one["id"] for outcome in json.loads(done.stdout) for one in outcome["findings"]
                    if one["id"].startswith("provenance-")]

        self.assertEqual(findings("--verify-key", public, exit_code=0), [])
        self.assertEqual(findings(exit_code=0), [])
        self.assertEqual(findings("--verify-key", self.keys / "ec.pub"), ["provenance-signature"])
        envelope.write_bytes(good[:len(good) // 2])
        self.assertEqual(findings("--verify-key", public), ["provenance-unreadable"])
        changed = json.loads(good)
        changed["payload"] = base64.b64encode(base64.b64decode(changed["payload"]).replace(b"toymagma", b"toymogma")).decode()
        envelope.write_text(json.dumps(changed))
        self.assertEqual(findings("--verify-key", public), ["provenance-signature"])
        envelope.unlink()
        self.assertEqual(findings("--verify-key", public), ["provenance-missing"])
        envelope.write_bytes(good)
        other = package.with_name("toymagma-cpu-2.9.0-2.conda")
        for path in (package, envelope, signature):
            shutil.copy(path, path.with_name(path.name.replace(package.name, other.name)))
        package, first = other, package
        self.assertIn("provenance-subject", findings("--verify-key", public))
        package = first
        package.write_bytes(content + b"\0")
        self.assertIn("provenance-subject", findings("--verify-key", public))
        self.ptpkg("check", package, "--verify-key", self.keys / "none.pub", exit_code=4)
        self.ptpkg("check", package, "--verify-key", self.keys / "ed25519.pem", exit_code=3)

    def test_a_repacked_package_has_a_statement_of_its_own_or_none(self):
        wheel = publishing.pure_wheel(self.scratch)
        beside(wheel, ".sig").write_text("x")
        beside(wheel, ".intoto.jsonl").write_text("x")
        beside(wheel, ".publish.attestation").write_text(json.dumps(python_attestation(wheel, "https://slsa.dev/provenance/v1")))
        output = self.scratch / "dist"
        self.ptpkg("conda", wheel, "--format", "conda", "--output", output)
        self.assertFalse(list(output.rglob("*.sig")) + list(output.rglob("*.jsonl")) + list(output.rglob("*.attestation")))
        self.ptpkg("conda", wheel, "--format", "conda", "--output", output, "--sign-key", self.make_key("ed25519"))
        self.ptpkg("check", output, "--verify-key", self.keys / "ed25519.pub")
        envelope, = output.rglob("*.intoto.jsonl")
        definition = json.loads(base64.b64decode(json.loads(envelope.read_text())["payload"]))["predicate"]["buildDefinition"]
        self.assertEqual(definition["buildType"], "urn:ptpkg:repack:v1")
        self.assertEqual(definition["resolvedDependencies"],
                         [{"name": wheel.name, "digest": {"sha256": harness.sha256(wheel)}}])


class Travelling(Case):
    def test_to_a_folder_as_they_are(self):
        package = self.signed()
        beside(package, ".sigstore.json").write_text(json.dumps(conda_attestation(package, "https://channels.example.org/me")))
        there = self.scratch / "there"
        for _ in range(2):
            self.publish(package.parents[2], "--to", f"file://{there}")
        endings = (".intoto.jsonl", ".sig", ".sigstore.json")
        arrived = there / "conda/linux-64" / package.name
        for ending in endings:
            self.assertEqual(beside(arrived, ending).read_bytes(), beside(package, ending).read_bytes())
        listed = {item["path"]: item["format"] for item in json.loads((there / "manifest.json").read_text())["artifacts"]}
        place = f"conda/linux-64/{package.name}"
        self.assertEqual([listed[place + ending] for ending in endings], ["provenance", "signature", "attestation"])
        self.ptpkg("check", there, "--verify-key", self.keys / "ed25519.pub")
        # Signed with another key it is another statement: what was published stays.
        self.build(self.make_key("ec"))
        said = self.publish(package, "--to", f"file://{there}", exit_code=7)
        self.assertIn("intoto.jsonl", said)

    def test_one_that_is_about_another_file_stops_the_run(self):
        package = self.signed()
        target = Target("anaconda")
        with target:
            beside(self.package, ".intoto.jsonl").write_bytes(beside(package, ".intoto.jsonl").read_bytes())
            self.addCleanup(beside(self.package, ".intoto.jsonl").unlink)
            said = self.publish_to(target, self.package, exit_code=7)
            self.assertIn("is about another", said)
            self.assertEqual(target.files(), {})

    def test_to_a_bucket_before_the_index_and_only_once(self):
        harness.peers_python()
        moto = Moto()
        self.addCleanup(moto.stop)
        package = self.signed()
        with Bucket(moto) as bucket:
            self.publish(package.parents[2], *bucket.flags(), **bucket.variables())
            for ending in (".intoto.jsonl", ".sig"):
                self.assertEqual(bucket.server.read(f"team/conda/linux-64/{package.name}{ending}"),
                                 beside(package, ending).read_bytes())
            self.assertIn(package.name, bucket.json("conda/linux-64/repodata.json")["packages.conda"])
            puts = bucket.asked("PUT")
            index = next(i for i, one in enumerate(puts) if "run_exports.json" in one)
            self.assertFalse([one for one in puts[index:] if "intoto" in one or ".sig" in one])
            said = self.publish(package.parents[2], *bucket.flags(), **bucket.variables())
            self.assertIn(f"{package.name}.sig: there already", said)
            self.assertEqual(bucket.asked("PUT"), puts)

    def test_to_an_index_as_twine_sends_them(self):
        wheel = publishing.pure_wheel(self.scratch)
        types = {".publish.attestation": "https://docs.pypi.org/attestations/publish/v1",
                 ".slsa.attestation": "https://slsa.dev/provenance/v1"}
        texts = {ending: python_attestation(wheel, kind) for ending, kind in types.items()}
        for ending, text in texts.items():
            beside(wheel, ending).write_text(json.dumps(text))
        beside(wheel, ".sig").write_text("x")
        with Target("pypi") as target:
            said = self.publish_to(target, wheel, "--dry-run")
            self.assertIn(f"(with {wheel.name}.publish.attestation, {wheel.name}.slsa.attestation)", said)
            said = self.publish_to(target, wheel)
            self.assertIn(f"skipped: '{wheel.name}.sig', which ", said)
            ours = target.server.fields_of(wheel.name)
        self.assertEqual(json.loads(ours["attestations"][0]), list(texts.values()))
        python = harness.peers_python()
        script = ("import json, sys; from twine.package import PackageFile; p = PackageFile.from_filename(sys.argv[1], None); "
                  "p.add_attestations(sys.argv[2:]); print(json.dumps(p.metadata_dictionary()['attestations']))")
        files = [beside(wheel, ending) for ending in types]
        twines = subprocess.run([python, "-c", script, wheel, *files], check=True, capture_output=True, text=True).stdout
        self.assertEqual(json.loads(json.loads(twines)), json.loads(ours["attestations"][0]))

    def test_an_index_gets_no_field_without_attestations_and_none_that_is_wrong(self):
        wheel = publishing.pure_wheel(self.scratch)
        with Target("pypi") as target:
            beside(wheel, ".publish.attestation").write_text(json.dumps(python_attestation(self.package, "urn:x")))
            self.assertIn("'urn:x', which indexes do not accept", self.publish_to(target, wheel, exit_code=7))
            self.assertEqual(target.files(), {})
            beside(wheel, ".publish.attestation").unlink()
            self.publish_to(target, wheel)
            self.assertNotIn("attestations", target.server.fields_of(wheel.name))

    def test_to_prefix_dev_with_the_package(self):
        with Target("prefix") as target:
            path = beside(self.package, ".sigstore.json")
            self.addCleanup(path.unlink)
            path.write_text(json.dumps(conda_attestation(self.package, "https://elsewhere.example.org/main")))
            self.assertIn("was made for the channel", self.publish_to(target, self.package, exit_code=7))
            self.assertEqual(target.files(), {})
            text = json.dumps(conda_attestation(self.package, f"{target.server.url}/main"))
            path.write_text(text)
            self.publish_to(target, self.package)
            self.assertEqual(list(target.server.state()["attestations"].values()), [hashlib.sha256(text.encode()).hexdigest()])
            self.assertEqual(target.files(), {self.package.name: harness.sha256(self.package)})

    def test_where_there_is_no_place_for_them_it_is_said(self):
        package = self.signed()
        for kind in ("anaconda", "quetz", "artifactory"):
            with self.subTest(kind), Target(kind) as target:
                said = self.publish_to(target, package)
                self.assertIn("skipped: ", said)
                self.assertIn(f"{package.name}.intoto.jsonl", said)
                self.assertEqual(target.files(), {package.name: harness.sha256(package)})


if __name__ == "__main__":
    harness.main()
