"""Ways to spoil a conda package: one function for each thing that some consumer refuses or reads in its own way, and some near it.

MUTATIONS: name → (kinds of package that it fits, function of a package that changes it in place). Names are KIND/VARIANT; the test
runs every KIND at least once.
"""
import bz2
import io
import json
import zipfile

from conda_bytes import BLOCK, PLACEHOLDER, Member, pax_record

ALL = ("native", "python", "generic")
MUTATIONS = {}


def mutation(name, change, kinds=ALL):
    assert name not in MUTATIONS, name
    MUTATIONS[name] = (kinds, change)


class Raw(str):
    """JSON text that json.dumps would not write."""


def dumped(value):
    """`value` as JSON, with each Raw as it is."""
    raws = []

    def hide(item):
        if isinstance(item, Raw):
            raws.append(item)
            return f"@raw{len(raws) - 1}@"
        if isinstance(item, dict):
            return {key: hide(inner) for key, inner in item.items()}
        return [hide(inner) for inner in item] if isinstance(item, list) else item

    text = json.dumps(hide(value))
    for number, raw in enumerate(raws):
        text = text.replace(f'"@raw{number}@"', raw)
    return text.encode("utf-8", "surrogateescape")


VALUES = {
    "null": None, "true": True, "false": False, "0": 0, "1": 1, "-1": -1, "-0": Raw("-0"), "0.0": 0.0, "1.5": 1.5, "1e2": Raw("1e2"),
    "2^63": 2**63, "2^64": 2**64, "10^30": 10**30, "seconds": 1_600_000_000, "late": 253_402_300_800_000, "early": -377_705_116_800,
    "empty": "", "text": "x", "blank": " ", "words": "a b,c", "nul": "a\0b", "md5": "d" * 32, "hex": "0" * 64, "HEX": "A" * 64,
    "purl": "pkg:pypi/toy@1.0", "url": "https://example.org/", "none": "None", "slash": "a/b", "unicode": "é",
    "control": "a\x1bb", "[]": [], "[text]": ["x"], "[empty]": [""], "[1]": [1], "[null]": [None], "[[]]": [["x"]], "[purl]": ["pkg:pypi/toy@1.0"],
    "[words]": ["a b", "c >=1"], "{}": {}, "{text}": {"a": "b"}, "{list}": {"a": ["b"]}, "{null}": {"a": None}, "{1}": {"a": [1]},
    "{weak}": {"weak": ["toy"]}, "{weak1}": {"weak": [1]}, "{weaknull}": {"weak": None}}
FIELDS = {
    "index.json": "name version build build_number depends constrains subdir arch platform noarch license license_family timestamp features "
                  "track_features flags purls python_site_packages_path extra_depends run_exports legacy_bz2_md5 legacy_bz2_size md5 sha256 "
                  "size attestations_sha256 indexed_timestamp repodata_revision requires preferred_env date package_type other",
    "about.json": "channels description dev_url doc_url extra home license license_family source_url summary keywords identifiers other",
    "link.json": "noarch package_metadata_version preferred_env noarch.type noarch.entry_points noarch.other",
    "paths.json": "paths paths_version paths.0._path paths.0.no_link paths.0.path_type paths.0.prefix_placeholder paths.0.file_mode "
                  "paths.0.sha256 paths.0.size_in_bytes paths.0.inode_paths paths.0.sha256_in_prefix paths.0.other paths.0 other",
    "run_exports.json": "weak strong noarch weak_constrains strong_constrains other"}


def document(package, name):
    value = package.documents.get(name)
    return package.paths() if name == "paths.json" and value is None else value


def set_field(package, name, field, value):
    whole = json.loads(json.dumps(document(package, name)))
    *above, last = field.split(".")
    inner = whole
    for key in above:
        inner = inner[int(key) if isinstance(inner, list) else key]
    if value is ...:
        del inner[last]
    else:
        inner[int(last) if isinstance(inner, list) else last] = value
    package.documents[name] = dumped(whole)


def kinds_of(name):
    return ("python",) if name == "link.json" else ("native", "generic") if name == "run_exports.json" else ALL


def field_mutations():
    for name, fields in FIELDS.items():
        for field in fields.split():
            for label, value in VALUES.items():
                mutation(f"{name}:{field}/{label}", lambda p, n=name, f=field, v=value: set_field(p, n, f, v), kinds_of(name))
    for name, fields in {"index.json": "name version build build_number depends constrains subdir arch noarch license timestamp",
                         "link.json": "noarch package_metadata_version noarch.type noarch.entry_points",
                         "paths.json": "paths paths_version paths.0._path paths.0.path_type paths.0.sha256 paths.0.size_in_bytes"}.items():
        for field in fields.split():
            mutation(f"{name}:{field}/missing", lambda p, n=name, f=field: set_field(p, n, f, ...), kinds_of(name))
    for label, value in {"binary": "binary", "TEXT": "TEXT"}.items():
        mutation(f"paths.json:paths.0.file_mode/{label}", lambda p, v=value: set_field(p, "paths.json", "paths.0.file_mode", v))
    for value in ("hardlink", "softlink", "directory", "HardLink"):
        mutation(f"paths.json:paths.0.path_type/{value}", lambda p, v=value: set_field(p, "paths.json", "paths.0.path_type", v))
    for value in ("python", "generic", "Python"):
        mutation(f"index.json:noarch/{value}", lambda p, v=value: set_field(p, "index.json", "noarch", v))
        mutation(f"link.json:noarch.type/{value}", lambda p, v=value: set_field(p, "link.json", "noarch.type", v), ("python",))
    for value in ("../evil", "/evil", "a/../b", "./a", "a//b", "info/x", "info", "conda-meta/x.json", "a\\b", "", ".", "a/", "é", "\ud800"):
        mutation(f"paths.json:_path/{value!a}", lambda p, v=value: set_field(p, "paths.json", "paths.0._path", v))
    for value in ("foo-64", "linux-amd64", "linux-riscv64", "linux", "Linux-64", "a-b-c"):
        mutation(f"index.json:subdir/form {value}", lambda p, v=value: set_field(p, "index.json", "subdir", v), ("native",))
    for value in ("1.0.0", "1!1", "1..0", "1_", "v 1", "1-2", "1.0+a", "1.0+", "+1", "1!", "a!1", "1,0", "=1", "1*", "1\n", "latest", "_", "."):
        mutation(f"index.json:version/form {value!a}", lambda p, v=value: set_field(p, "index.json", "version", v))
    for value in ("Toy", "to y", "toy!", "-toy", ".toy", "_toy", "__toy", "toy\n", "töy", "toy[a]", "toy*", "a" * 250):
        mutation(f"index.json:name/form {value[:9]!a}", lambda p, v=value: set_field(p, "index.json", "name", v))
    for value in ("a", "a 1.0", "a 1.0 b", "a >=1,<2", "a>=1", "a =1", "a ==1", "a 1.*", "a[version=1]", "c::a", "c/linux-64::a", "*", "a*",
                  "a >=", "a >= 1", "a ~=1.0", "a !=1", "a 1|2", "a (1", "A", "é", "a;b", "a 1 b c d", "a @ url", "", " ", "a\nb",
                  "a[build=x]", "a[", "a 1.0.*", "a <1.0.0a0", "a ^1.*$", "a =1=b", "__unix", "a[extras=[b]]", 'a; if python >=3'):
        for field in ("depends", "constrains"):
            mutation(f"index.json:{field}/spec {value!a}", lambda p, f=field, v=value: set_field(p, "index.json", f, [v]))
        mutation(f"index.json:extra_depends/spec {value!a}", lambda p, v=value: set_field(p, "index.json", "extra_depends", {"x": [v]}))
    for value in ("../../evil = a:b", "run = a:b;import os", "run = a:b\nimport os", "run", "run = a", "run = :b", "run = a:", " = a:b",
                  ".hidden = a:b", ".. = a:b", "a\\b = c:d", "/abs = a:b", "a b = c:d", "run = a:b [x]", "run = a:b.c", "run = a.b:c",
                  "run = ä:b", "ä = a:b", "run=a:b", "run = a : b", "run = 1a:b", "run = a..b:c", "run = a:b:c", "a = b = c:d", "run\n = a:b",
                  "run\0 = a:b", "-run = a:b", "run = class:b", "r" * 300 + " = a:b", "run$(x) = a:b", "run = a:b#c", "run\x7f = a:b", "con = a:b",
                  "python = a:b", "run\u202e = a:b", "\tx\u00a0= a:b", "[x] = a:b", "#x = a:b", "run = a:\u00a0b", "run = a:b\u2028"):
        mutation(f"link.json:entry/{value[:20]!a}",
                 lambda p, v=value: set_field(p, "link.json", "noarch.entry_points", [v]), ("python",))


def set_text(package, name, change):
    value = document(package, name)
    package.documents[name] = change(json.dumps({} if value is None else value).encode())


def with_member(text):
    return lambda data: data.rstrip()[:-1] + (b"" if data.strip() == b"{}" else b", ") + text + b"}"


TEXTS = {
    "nul": lambda data: data + b"\0", "nul and more": lambda data: data + b"\0{}", "nul before": lambda data: b"\0" + data,
    "nul inside": lambda data: b"{\0" + data[1:], "trailing": lambda data: data + b" x", "two values": lambda data: data + data,
    "trailing comma": lambda data: data + b",", "trailing brace": lambda data: data + b"}", "bom": lambda data: b"\xef\xbb\xbf" + data,
    "newlines": lambda data: b"\r\n\t " + data + b" \n\n", "form feed": lambda data: data + b"\f", "vertical tab": lambda data: b"\v" + data,
    "no-break space": lambda data: data + b"\xc2\xa0", "utf-16": lambda data: data.decode().encode("utf-16"),
    "utf-32": lambda data: data.decode().encode("utf-32-le"), "empty": lambda data: b"", "blank": lambda data: b" ", "null": lambda data: b"null",
    "list": lambda data: b"[]", "list of it": lambda data: b"[" + data + b"]", "number": lambda data: b"1", "text": lambda data: b'"x"',
    "truncated": lambda data: data[:-1], "comment": lambda data: data + b"// x", "comma at end": lambda data: data[:-1] + b",}",
    "single quotes": lambda data: data.replace(b'"', b"'"), "nan": with_member(b'"zz": NaN'), "infinity": with_member(b'"zz": -Infinity'),
    "duplicate unknown": with_member(b'"zz": 1, "zz": 2'), "duplicate equal": with_member(b'"zz": 1, "zz": 1'),
    "duplicate nested": with_member(b'"zz": {"y": 1, "y": 2}'), "duplicate escaped": with_member(b'"zz": 1, "\\u007az": 2'),
    "invalid utf-8": with_member(b'"zz": "\xff"'), "overlong": with_member(b'"zz": "\xc0\xaf"'), "cut utf-8": with_member(b'"zz": "\xe2\x82"'),
    "raw surrogate": with_member(b'"zz": "\xed\xa0\x80"'), "beyond unicode": with_member(b'"zz": "\xf4\x90\x80\x80"'),
    "lone high": with_member(b'"zz": "\\ud800"'), "lone low": with_member(b'"zz": "\\udc00"'), "lone in key": with_member(b'"\\ud800": 1'),
    "pair": with_member(b'"zz": "\\ud83d\\ude00"'), "wrong pair": with_member(b'"zz": "\\ude00\\ud83d"'), "escaped nul": with_member(b'"zz": "\\u0000"'),
    "control": with_member(b'"zz": "a\nb"'), "raw nul in text": with_member(b'"zz": "a\0b"'), "del": with_member(b'"zz": "\x7f"'),
    "bad escape": with_member(b'"zz": "\\x41"'), "deep": with_member(b'"zz": ' + b"[" * 120 + b"]" * 120),
    "deeper": with_member(b'"zz": ' + b"[" * 300 + b"]" * 300), "huge float": with_member(b'"zz": 1e999'), "tiny float": with_member(b'"zz": 1e-999'),
    "huge integer": with_member(b'"zz": ' + b"9" * 400), "minus zero": with_member(b'"zz": -0'), "leading zero": with_member(b'"zz": 01'),
    "plus": with_member(b'"zz": +1'), "hexadecimal": with_member(b'"zz": 0x10'), "point": with_member(b'"zz": 1.'), "dot": with_member(b'"zz": .5'),
    "minus": with_member(b'"zz": -'), "upper true": with_member(b'"zz": True'), "key not text": with_member(b"1: 1")}


def text_mutations():
    for name in FIELDS:
        for label, change in TEXTS.items():
            mutation(f"{name}/{label}", lambda p, n=name, c=change: set_text(p, n, c), kinds_of(name))
    for field in ("name", "timestamp", "depends"):
        mutation(f"index.json/duplicate {field}", lambda p, f=field: set_text(p, "index.json", with_member(json.dumps(f).encode() + b": " +
                                                                  json.dumps(p.documents["index.json"][f]).encode())))
    for name in ("index.json", "about.json", "paths.json", "link.json", "licenses/LICENSE"):
        mutation(f"absent/{name}", lambda p, n=name: p.documents.update({n: None}), kinds_of(name))
    lists = {"empty": b"", "absent": b"lib/nothing\n", "latin-1": b"\xff\n", "nul": b"a\0b\n", "quote": b'"a\n', "words": b"a b c d\n",
             "binary": f"{PLACEHOLDER} binary share/toy/root\n".encode(), "mode": f"{PLACEHOLDER} other share/toy/root\n".encode(),
             "escapes": b"../evil\n", "absolute": b"/evil\n", "crlf": b"share/toy/root\r\n", "right": b"share/toy/root\n", "blank": b"\n\n"}
    for name in ("files", "has_prefix", "no_link", "no_softlink"):
        for label, text in lists.items():
            mutation(f"{name}/{label}", lambda p, n=name, t=text: p.documents.update({n: t}))
            mutation(f"{name} alone/{label}", lambda p, n=name, t=text: p.documents.update({n: t, "paths.json": None}))


def add(part, *members):
    """Members at the end of a part: of the payload, or below info/."""
    def change(package):
        for member in members:
            made = Member(**{**member.__dict__})
            if part == "info":
                made.name = made.name if made.name.startswith((b"/", b"..", b"./", b"info/")) else b"info/" + made.name
                package.info.append(made)
            else:
                package.payload.append(made)
    return change


SPARSE_MAP = b"0\n1\n"
GNU_SPARSE = (b"\0" * 12 + b"\0" * 12 + b"\0" * 12 + b"\0" * 4 + b"\0" + b"%011o\0%011o\0" % (0, 4) + b"%011o\0%011o\0" % (8, 0)
              + b"\0" * 48 + b"\0" + b"%011o\0" % 8).ljust(167, b"\0")
SPARSE = {
    "old": [Member(b"x/sparse", b"data", kind=b"S", gnu=GNU_SPARSE)],
    "0.0": [Member(b"x/sparse", b"data", pax={"GNU.sparse.size": "8", "GNU.sparse.numblocks": "1", "GNU.sparse.offset": "0",
                                             "GNU.sparse.numbytes": "4"})],
    "0.1": [Member(b"x/sparse", b"data", pax={"GNU.sparse.size": "8", "GNU.sparse.numblocks": "1", "GNU.sparse.map": "0,4",
                                             "GNU.sparse.name": "x/other"})],
    "1.0": [Member(b"GNUSparseFile.0/x", b"1\n0\n4\n".ljust(BLOCK, b"\0") + b"data", pax={
        "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "x/sparse", "GNU.sparse.realsize": "8"})],
    "1.0 full": [Member(b"GNUSparseFile.0/x", b"1\n0\n4\n".ljust(BLOCK, b"\0") + b"data", pax={
        "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "x/sparse", "GNU.sparse.realsize": "4"})],
    "name": [Member(b"x/plain", b"data", pax={"GNU.sparse.name": "x/other"})],
    "realsize": [Member(b"x/plain", b"data", pax={"GNU.sparse.realsize": "99"})],
    "name empty": [Member(b"x/plain", b"data", pax={"GNU.sparse.name": ""})],
    "unknown": [Member(b"x/plain", b"data", pax={"GNU.sparse.other": "1"})]}
LINKS = {
    "absolute": [Member(b"r", kind=b"2", link=b"/abs")], "absolute and member": [Member(b"r", kind=b"2", link=b"/tmp/ptpkg-abs"), Member(b"r/evil", b"x")],
    "out": [Member(b"r", kind=b"2", link=b"../../../../out")], "out and member": [Member(b"r", kind=b"2", link=b"../../../out"), Member(b"r/evil", b"x")],
    "inside and member": [Member(b"d/f", b"x"), Member(b"r", kind=b"2", link=b"d"), Member(b"r/evil", b"x")],
    "member before": [Member(b"r/evil", b"x"), Member(b"r", kind=b"2", link=b"../out")],
    "loop": [Member(b"r", kind=b"2", link=b"r")], "loop of two": [Member(b"r", kind=b"2", link=b"s"), Member(b"s", kind=b"2", link=b"r")],
    "dangling": [Member(b"r", kind=b"2", link=b"nothing")], "empty": [Member(b"r", kind=b"2", link=b"")], "dot": [Member(b"r", kind=b"2", link=b".")],
    "to folder": [Member(b"d/f", b"x"), Member(b"r", kind=b"2", link=b"d")], "not utf-8": [Member(b"r", kind=b"2", link=b"\xff")],
    "control": [Member(b"r", kind=b"2", link=b"a\nb")], "long": [Member(b"r", kind=b"2", pax={"linkpath": "a/" * 2100 + "b"})],
    "with content": [Member(b"r", b"content", kind=b"2", link=b"nothing")], "through link": [
        Member(b"d/u", kind=b"2", link=b".."), Member(b"r", kind=b"2", link=b"d/u/../../../../out")],
    "out by pax": [Member(b"r", kind=b"2", link=b"a", pax={"linkpath": "../../../../out"})],
    "in and out": [Member(b"r", kind=b"2", link=b"a/../../../../out")]}
HARD = {
    "right": [Member(b"h/a", b"x"), Member(b"h/b", kind=b"1", link=b"h/a")], "later": [Member(b"h/b", kind=b"1", link=b"h/c"), Member(b"h/c", b"x")],
    "absent": [Member(b"h/b", kind=b"1", link=b"h/none")], "itself": [Member(b"h/b", kind=b"1", link=b"h/b")],
    "absolute": [Member(b"h/b", kind=b"1", link=b"/etc/hostname")], "out": [Member(b"h/b", kind=b"1", link=b"../../etc/hostname")],
    "to symlink": [Member(b"h/a", b"x"), Member(b"h/s", kind=b"2", link=b"a"), Member(b"h/b", kind=b"1", link=b"h/s")],
    "dotted": [Member(b"h/a", b"x"), Member(b"h/b", kind=b"1", link=b"./h/a")], "to info": [Member(b"h/b", kind=b"1", link=b"info/index.json")],
    "to folder": [Member(b"h/", kind=b"5", mode=0o755), Member(b"h/b", kind=b"1", link=b"h")], "with content": [Member(b"h/a", b"x"), Member(b"h/b", b"y", kind=b"1", link=b"h/a")],
    "mode": [Member(b"h/a", b"x"), Member(b"h/b", kind=b"1", link=b"h/a", mode=0o755)], "empty": [Member(b"h/b", kind=b"1", link=b"")],
    "twice": [Member(b"h/a", b"x"), Member(b"h/b", kind=b"1", link=b"h/a"), Member(b"h/b", kind=b"1", link=b"h/a")]}
NAMES = {
    "absolute": b"/tmp/ptpkg-evil", "climbs": b"../evil", "climbs inside": b"a/../b", "climbs out": b"a/../../evil", "dot": b"./a", "dot inside": b"a/./b",
    "double slash": b"a//b", "trailing slash": b"a/", "empty": b"", "slash": b"/", "dots": b"...", "newline": b"a\nb", "escape": b"a\x1b[31m", "del": b"a\x7f",
    "c1": "a\x9b".encode(), "bidi": "a\u202eb".encode(), "zero width": "a\u200bb".encode(), "bom": "a\ufeffb".encode(), "noncharacter": "a\ufffeb".encode(),
    "tag": "a\U000e0041b".encode(), "line separator": "a\u2028b".encode(), "composed": "é".encode(), "decomposed": "e\u0301".encode(), "not utf-8": b"a\xffb",
    "surrogate": b"a\xed\xa0\x80b", "backslash": b"a\\b", "colon": b"a:b", "star": b"a*", "trailing dot": b"a.", "trailing space": b"a ", "leading space": b" a",
    "con": b"con.txt", "long part": b"x" * 90 + b"/" + b"y" * 100, "dollar": b"$x", "tilde": b"~x"}
PAX_NAMES = {"256 bytes": "x" * 256, "deep": "d/" * 200 + "f", "long": "/".join(["x" * 100] * 45), "climbs": "../evil", "absolute": "/tmp/ptpkg-pax",
             "nul": b"a\0b", "not utf-8": b"a\xffb", "empty": "", "slash": "a/"}


def member_mutations():
    for part in ("payload", "info"):
        for label, members in LINKS.items():
            mutation(f"{part} symlink/{label}", add(part, *members))
        for label, members in HARD.items():
            hard = members if part == "payload" else [Member(m.name, m.data, m.kind, b"info/" + m.link if m.link[:2] == b"h/" else m.link, m.mode)
                                                      for m in members]
            mutation(f"{part} hard link/{label}", add(part, *hard))
        for label, members in SPARSE.items():
            mutation(f"{part} sparse/{label}", add(part, *members))
        for label, name in NAMES.items():
            mutation(f"{part} name/{label}", add(part, Member(name, b"x")))
        for label, name in PAX_NAMES.items():
            mutation(f"{part} pax path/{label}", add(part, Member(b"plain", b"x", pax={"path": name})))
        for mode in (0o4755, 0o2755, 0o6755, 0o1755, 0o4644, 0o2644, 0o1644, 0, 0o111, 0o444, 0o666, 0o777, 0o600, 0o055, 0o010, 0o400, 0o1777777):
            mutation(f"{part} mode/{mode:o}", add(part, Member(b"x/mode", b"x", mode=mode)))
        mutation(f"{part} mode/folder 2755", add(part, Member(b"m/", kind=b"5", mode=0o2755), Member(b"m/f", b"x")))
        mutation(f"{part} mode/folder 0", add(part, Member(b"m/", kind=b"5", mode=0), Member(b"m/f", b"x")))
        for kind in (b"3", b"4", b"6", b"7", b"\0", b"D", b"M", b"N", b"V", b"Z", b"A", b"8", b"X", b"I", b"B"):
            mutation(f"{part} kind/{kind!r}", add(part, Member(b"x/kind", b"x" if kind in b"7\0" else b"", kind=kind)))
        mutation(f"{part} kind/long name", add(part, Member(b"././@LongLink", b"x/long\0", kind=b"L"), Member(b"short", b"x")))
        mutation(f"{part} kind/long link", add(part, Member(b"././@LongLink", b"../../../out\0", kind=b"K"), Member(b"l", kind=b"2", link=b"a")))
        for key, value in {"path": "x/renamed", "comment": "x", "size": "1", "mtime": "-5", "uid": "99"}.items():
            mutation(f"{part} global header/{key}", add(part, Member(b"g", pax_record(key, value), kind=b"g"), Member(b"x/g", b"y")))
        for key, value in {"size": "1", "size 3": "3", "hdrcharset": "BINARY", "mtime": "-5", "mtime text": "x", "SCHILY.xattr.user.a": "b", "comment": "é",
                           "LIBARCHIVE.symlinktype": "dir", "SCHILY.dev": "1", "atime": "1e400", "unknown": "x", "RHT.security.selinux": "x"}.items():
            mutation(f"{part} pax/{key}", add(part, Member(b"x/p", b"y", pax={key.split(" ")[0]: value})))
        for label, other in {"equal": Member(b"x/t", b"1"), "other": Member(b"x/t", b"2"), "symlink": Member(b"x/t", kind=b"2", link=b"y"),
                             "folder": Member(b"x/t/", kind=b"5", mode=0o755), "below": Member(b"x/t/u", b"2"), "dotted": Member(b"./x/t", b"2"),
                             "slashes": Member(b"x//t", b"2"), "case": Member(b"x/T", b"2"), "folder case": Member(b"X/t", b"2"),
                             "composed": Member("x/é".encode(), b"2")}.items():
            mutation(f"{part} twice/{label}", add(part, Member("x/e\u0301".encode() if label == "composed" else b"x/t", b"1"), other))
            if label not in ("equal", "other"):
                mutation(f"{part} twice/{label} first", add(part, other, Member("x/e\u0301".encode() if label == "composed" else b"x/t", b"1")))
        mutation(f"{part} folders/listed", add(part, Member(b"e/", kind=b"5", mode=0o755), Member(b"e/f", b"x")))
        mutation(f"{part} folders/empty", add(part, Member(b"e/", kind=b"5", mode=0o755)))
        mutation(f"{part} folders/no slash", add(part, Member(b"e", kind=b"5", mode=0o755)))
        mutation(f"{part} folders/root", add(part, Member(b"./", kind=b"5", mode=0o755)))
        mutation(f"{part} end/member behind", add(part, Member(b"x/f", b"x", after=b"\0" * (2 * BLOCK)), Member(b"x/hidden", b"x")))
        mutation(f"{part} end/zero block", add(part, Member(b"x/f", b"x", after=b"\0" * BLOCK), Member(b"x/hidden", b"x")))
        mutation(f"{part} end/garbage", add(part, Member(b"x/f", b"x", after=b"\0" * (2 * BLOCK) + b"garbage!" * 64)))
        mutation(f"{part} end/bad header", add(part, Member(b"x/f", b"x", after=b"garbage!" * 64)))
        mutation(f"{part} end/size beyond", add(part, Member(b"x/f", b"x", size=99999)))
    for name in ("conda-meta/toy.json", "conda-meta/history", "conda-meta/x", "conda-meta", "conda-meta/a/b", "Conda-Meta/x.json", "CONDA-META/history",
                 "conda-meta.json", ".conda_trash/x", "pkgs/x", "__clobbers__/x", "CACHEDIR.TAG", "share/conda-meta/x.json", "conda-metadata/x",
                 ".condarc", "envs/x", "compiler_compat/ld", "etc/conda/activate.d/x.sh", "bin/.toy-post-link.sh", "condabin/x"):
        mutation(f"payload place/{name}", add("payload", Member(name.encode(), b"{}")))
    mutation("payload place/conda-meta link", add("payload", Member(b"d/f", b"x"), Member(b"conda-meta", kind=b"2", link=b"d")))
    mutation("payload place/conda-meta folder", add("payload", Member(b"conda-meta/", kind=b"5", mode=0o755)))
    mutation("payload place/info", add("payload", Member(b"info/extra", b"x")))
    mutation("payload place/Info", add("payload", Member(b"Info/extra", b"x")))
    mutation("payload place/infos", add("payload", Member(b"infos/extra", b"x")))
    mutation("info place/outside", lambda p: p.info.append(Member(b"share/x", b"x")))
    mutation("info place/info file", lambda p: p.info.append(Member(b"info", b"x")))
    mutation("info place/repodata_record", add("info", Member(b"repodata_record.json", b"{}")))


NOARCH = {
    "script and bin": [Member(b"bin/tool", b"other", mode=0o755)], "entry point and bin": [Member(b"bin/toy", b"other", mode=0o755)],
    "entry point and script": [Member(b"python-scripts/toy", b"other", mode=0o755)], "Scripts and script": [Member(b"Scripts/tool", b"other")],
    "Scripts and entry point": [Member(b"Scripts/toy.exe", b"other")], "Scripts script": [Member(b"Scripts/toy-script.py", b"other")],
    "module": [Member(b"lib/python3.11/site-packages/toy/cli.py", b"other")], "module of 3.12": [Member(b"lib/python3.12/site-packages/toy/cli.py", b"other")],
    "Lib": [Member(b"Lib/site-packages/toy/cli.py", b"other")], "module folder": [Member(b"lib/python3.11/site-packages/toy", b"other")],
    "module of module": [Member(b"lib/python3.11/site-packages/toy/cli.py/x", b"other")], "bin file": [Member(b"bin", b"other")],
    "lib file": [Member(b"lib", b"other")], "bin link": [Member(b"bin", kind=b"2", link=b"share")], "lib link": [Member(b"lib", kind=b"2", link=b"share")],
    "site-packages file": [Member(b"lib/python3.11/site-packages", b"other")], "free": [Member(b"bin/other", b"other")],
    "byte code": [Member(b"site-packages/toy/__pycache__/cli.cpython-311.pyc", b"other")],
    "python": [Member(b"bin/python", b"other")], "script python": [Member(b"python-scripts/python", b"other", mode=0o755)]}


def noarch_mutations():
    for label, members in NOARCH.items():
        mutation(f"noarch place/{label}", add("payload", *members), ("python",))
    mutation("noarch place/site-packages as file", lambda p: p.payload.__setitem__(slice(2, 4), [Member(b"site-packages", b"x")]), ("python",))
    mutation("noarch place/site-packages as link", lambda p: p.payload.append(Member(b"python-scripts/link", kind=b"2", link=b"tool")), ("python",))
    for label, entries in {"twice": ["toy = a:b", "toy = c:d"], "twice equal": ["toy = a:b", "toy = a:b"], "case": ["toy = a:b", "Toy = a:b"],
                           "script": ["tool = a:b"], "exe": ["toy = a:b", "toy.exe = a:b"], "two": ["a = a:b", "c = a:b"],
                           "python": ["python = a:b"], "python3.11": ["python3.11 = a:b"]}.items():
        mutation(f"link.json:entries/{label}", lambda p, e=entries: set_field(p, "link.json", "noarch.entry_points", e), ("python",))
    mutation("link.json:native/python", lambda p: p.documents.update(
        {"link.json": {"noarch": {"type": "python", "entry_points": ["x = a:b"]}, "package_metadata_version": 1}}), ("native", "generic"))
    mutation("link.json:native/unreadable", lambda p: p.documents.update({"link.json": b"{"}), ("native", "generic"))


def change_entry(change):
    def listed(entries):
        change(entries)
        return entries
    return lambda package: setattr(package, "listed", listed)


def list_mutations():
    for label, change in {
            "missing": lambda e: e.pop(), "none": lambda e: e.clear(), "twice": lambda e: e.append(dict(e[0])), "order": lambda e: e.reverse(),
            "absent": lambda e: e.append({**e[0], "_path": "share/none"}), "digest": lambda e: e[0].update(sha256="0" * 64),
            "size": lambda e: e[0].update(size_in_bytes=99), "kind": lambda e: e[0].update(path_type="softlink"),
            "folder": lambda e: e.append({"_path": "share/toy", "path_type": "directory"}), "new folder": lambda e: e.append({"_path": "share/new", "path_type": "directory"}),
            "no digest": lambda e: e[0].pop("sha256"), "no size": lambda e: e[0].pop("size_in_bytes"), "dotted": lambda e: e[0].update(_path="./" + e[0]["_path"]),
            "double slash": lambda e: e[0].update(_path=e[0]["_path"].replace("/", "//", 1)), "placeholder empty": lambda e: e[0].update(prefix_placeholder="", file_mode="text"),
            "placeholder absent": lambda e: e[0].update(prefix_placeholder="/none", file_mode="text"), "placeholder no mode": lambda e: e[0].update(prefix_placeholder="/none"),
            "mode no placeholder": lambda e: e[0].update(file_mode="text"), "binary short": lambda e: e[0].update(prefix_placeholder="#!/bin/sh", file_mode="binary"),
            "info": lambda e: e.append({**e[0], "_path": "info/index.json"}), "case": lambda e: e[0].update(_path=e[0]["_path"].upper())}.items():
        mutation(f"paths list/{label}", change_entry(change))


ZIPS = {
    "two frames": lambda data: data, "prefix": lambda data: b"#!/bin/sh\n" + data, "trailing": lambda data: data + b"JUNK", "truncated": lambda data: data[:-10],
    "flipped": lambda data: data[:len(data) // 3] + bytes([data[len(data) // 3] ^ 0xff]) + data[len(data) // 3 + 1:], "empty": lambda data: b"", "text": lambda data: b"hello",
    "twice": lambda data: data + data, "half": lambda data: data[:len(data) // 2]}


class Stream(io.RawIOBase):
    """A file that cannot be sought in: zipfile then writes descriptors behind the members."""

    def __init__(self):
        super().__init__()
        self.written = b""

    def writable(self):
        return True

    def write(self, data):
        self.written += bytes(data)
        return len(data)


def with_descriptors(data):
    stream = Stream()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(stream, "w") as target:
        for info in source.infolist():
            target.writestr(zipfile.ZipInfo(info.filename), source.read(info))
    return stream.written


def empty_payload(package, tar):
    """A package without files; in a .conda, the payload is `tar`."""
    package.payload = []
    package.documents.pop("link.json", None)
    package.tars["pkg"] = tar


def container_mutations():
    for label, change in ZIPS.items():
        if label != "two frames":
            mutation(f"container/{label}", lambda p, c=change: setattr(p, "outer", c))
    for label, tar in {"no block": b"", "zeros": b"\0" * 100, "text": b"x" * 100, "one end block": b"\0" * BLOCK, "cut end block": b"\0" * (BLOCK + 100)}.items():
        mutation(f"tar of payload/{label}", lambda p, t=tar: empty_payload(p, t))
        mutation(f"tar of info/{label}", lambda p, t=tar: p.tars.update({"info": t, "": t}))
    mutation("container/descriptors", lambda p: setattr(p, "outer", lambda data: with_descriptors(data) if p.extension == ".conda" else data))
    mutation("container/two streams", lambda p: setattr(p, "outer", lambda data: data + bz2.compress(b"x") if p.extension == ".tar.bz2" else data))
    mutation("container/two streams cut", lambda p: setattr(
        p, "outer", lambda data: (lambda plain: bz2.compress(plain[:1024]) + bz2.compress(plain[1024:]))(bz2.decompress(data)) if p.extension == ".tar.bz2" else data))


field_mutations()
text_mutations()
member_mutations()
noarch_mutations()
list_mutations()
container_mutations()
