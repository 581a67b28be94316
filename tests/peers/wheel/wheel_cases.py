"""Right and wrong wheels: one for each thing that some consumer of wheels refuses, and some near it.

CASES: name → (bytes, file name). wheel_verdicts.txt says who refuses which. RULES: each rule and its cases;
`wheel_targets.py --rules` prints it with who refuses one of them, and wheel_targets.py fails on a rule without a case and on
a case without a rule.
"""
import base64
import bz2
import hashlib
import struct
import zlib

from deflate_bits import UNDEFINED
from wheel_bytes import (DESCRIPTOR, MAX32, METADATA, NAME, UTF8, WHEEL, Member, Zip, descriptor, field, row, wheel,
                         with_first, zip64_sizes, zip_bytes)

# The rules: of the name and .dist-info, of the zip layer, of what a writer fixes, and of uploads.
RULES = """
what is right is taken | right deflated folder sbom name-utf8 archive-comment
file name: form, normal name and version, build begins with a digit, sorted tags | file-name-*
.dist-info: one, of the project; for the index named as the file name writes name and version | dist-info-*
.data: of the name and version, known parts, no interpreter, no folder in scripts | data-*
Name and Version of METADATA are those of the file name | metadata-name-* metadata-version-other local-version
METADATA is there, UTF-8, with its three fields once | metadata-none metadata-empty metadata-latin1 metadata-utf16 metadata-bom metadata-crlf metadata-nul metadata-no-*
Metadata-Version is known | metadata-version-[0-9x]*
a description without a type is reStructuredText | description-markdown
fields: known, not newer than Metadata-Version | metadata-expression-2.1 metadata-import-namespace metadata-extra-2.3 field-unknown field-import-name* field-dynamic-* field-extra-*
Requires-Dist and Requires-Python parse, no URL | field-requires-* field-python-* field-provides-url
the file name has no variant label | variant-name
License-File is there; License and License-Expression exclude each other; the expression is SPDX | metadata-license-file field-license-* field-expression*
uploads: classifiers, Summary, Project-URL, mail addresses, content type | field-classifier* field-summary-* field-label-* field-url-* field-home-bad field-email-* field-content-* field-platform
platform tag is one that the index takes | platform-*
WHEEL: there, version 1.x, one Root-Is-Purelib, a Tag for each combination, Build as in the name | wheel-*
RECORD: there, each file once with sha256 and size, its own row empty, no folders, no signatures | record-*
entry_points.txt: INI, UTF-8, names of scripts, no interpreter | script-*
methods: stored and deflate | method-* bzip2
no encryption, no version beyond the reader | encrypted version-99
no data descriptor, or one that agrees | descriptor-*
no name twice, in the directory or in local headers | twice-* local-twice
local header and directory agree: name, sizes, CRC, both there | local-name local-crc local-size local-packed local-only central-only
sizes and CRC are those of the content | crc-wrong size-wrong* deflate-*
no prefix, suffix, gap, second end record, other disk; counts and places as they are | between two-archives truncated empty-zip no-zip prefix before-* suffix* zip-in-comment end-in-comment disk count-* directory-*
no comment of an entry | entry-comment
ZIP64 fields: lengths, values, where they may stand; the end record without more data | zip64-*
other extra fields whole; a Unicode path is the name | other-extra extra-cut unicode-path*
names: UTF-8, no control characters, relative, no '..' | name-not-* name-utf8-no-flag name-newline name-nul name-del name-backslash name-absolute name-climbs name-dot
folders are empty, members are regular files | folder-with-content symlink
no bomb: above 64 MiB at most 50 times the packed size | bomb
"""
CASES = {}
DATA = b"some data, some data, some data\n"
OTHER = "other-1.0.dist-info/"
ROW = row("toy/data", DATA)
BOTH_MAX = {"local_size": MAX32, "local_packed_size": MAX32}
BOMB_BYTES = 90 << 20


def case(name, data, file=NAME):
    assert name not in CASES, name
    CASES[name] = (data, file)


def deflated(data):
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(data) + deflate.flush()


def member(**changes):
    return Member(**{"name": b"toy/data", "content": DATA, **changes})


def unicode_path(name):
    return field(0x7075, b"\1" + struct.pack("<I", zlib.crc32(b"toy/data")) + name)


def digest(kind, data=DATA):
    return base64.urlsafe_b64encode(hashlib.new(kind, data).digest()).rstrip(b"=").decode()


def with_record(change):
    return wheel([member()], record=change)


def zip64_cases():
    case("zip64-both", with_first(**BOTH_MAX, local_extra=zip64_sizes(32, 32)))
    case("zip64-both-v45", with_first(version=45, **BOTH_MAX, local_extra=zip64_sizes(32, 32)))
    case("zip64-repeats", with_first(local_extra=zip64_sizes(32, 32)))
    case("zip64-0", with_first(local_extra=field(1, b"")))
    case("zip64-8-stored", with_first(local_size=MAX32, local_extra=zip64_sizes(32)))
    case("zip64-8-stored-both", with_first(**BOTH_MAX, local_extra=zip64_sizes(32)))
    case("zip64-8-stored-plain", with_first(local_extra=zip64_sizes(32)))
    case("zip64-8-deflate", with_first(method=8, local_size=MAX32, local_extra=zip64_sizes(32)))
    case("zip64-12", with_first(local_extra=field(1, b"0" * 12)))
    case("zip64-24", with_first(**BOTH_MAX, local_extra=zip64_sizes(32, 32, 0)))
    case("zip64-28", with_first(**BOTH_MAX, local_extra=field(1, struct.pack("<QQQI", 32, 32, 0, 0))))
    case("zip64-32", with_first(**BOTH_MAX, local_extra=zip64_sizes(32, 32, 0, 0)))
    case("zip64-contradicts", with_first(local_extra=zip64_sizes(5, 32)))
    case("zip64-stored-contradicts", with_first(local_extra=zip64_sizes(32, 5)))
    case("zip64-only-size-max", with_first(local_size=MAX32, local_extra=zip64_sizes(32, 32)))
    case("zip64-twice", with_first(**BOTH_MAX, local_extra=zip64_sizes(32, 32) * 2))
    central = {"size": MAX32, "packed_size": MAX32, "extra": zip64_sizes(32, 32)}
    case("zip64-central", with_first(**central, local_size=32, local_packed_size=32))
    case("zip64-central-and-local", with_first(**central, local_extra=zip64_sizes(32, 32)))
    case("zip64-central-superfluous", with_first(extra=zip64_sizes(32, 32)))
    case("zip64-end", wheel(shape=Zip(zip64=b"")))
    case("zip64-end-full", wheel(shape=Zip(zip64=b"", plain_end_is_full=True)))
    case("zip64-end-extensible", wheel(shape=Zip(zip64=b"12345678")))
    case("zip64-end-no-locator", wheel(shape=Zip(zip64=b"", zip64_locator=False)))


def member_cases():
    case("unicode-path", with_first(local_extra=unicode_path(b"toy/data")))
    case("unicode-path-other", with_first(extra=unicode_path(b"toy/evil"), local_extra=unicode_path(b"toy/evil")))
    case("other-extra", with_first(local_extra=field(0x5455, b"\1aaaa")))
    case("extra-cut", with_first(local_extra=b"\1\0\x10\0"))
    for method, data in ((0, DATA), (8, deflated(DATA))):
        size = len(data)
        for name, change in {
                "": {"after": descriptor(DATA, size)},
                "-bare": {"after": descriptor(DATA, size, False)},
                "-none": {},
                "-lies": {"after": descriptor(b"other", size)},
                "-size-lies": {"after": descriptor(DATA, size, size=len(DATA) + 1)},
                "-packed-lies": {"after": descriptor(DATA, size + 1)},
                "-long": {"after": descriptor(DATA, size, long=True)},
                "-zip64": {"local_extra": zip64_sizes(0, 0), "local_size": MAX32, "local_packed_size": MAX32,
                           "after": descriptor(DATA, size, long=True)},
                "-zip64-bare": {"local_extra": zip64_sizes(0, 0), "local_size": MAX32, "local_packed_size": MAX32,
                                "after": descriptor(DATA, size, False, long=True)},
                "-zip64-short": {"local_extra": zip64_sizes(0, 0), "local_size": MAX32, "local_packed_size": MAX32,
                                 "after": descriptor(DATA, size)},
                "-header-crc": {"local_crc": 7, "after": descriptor(DATA, size)},
                "-header-crc-alone": {"local_crc": zlib.crc32(DATA), "after": descriptor(DATA, size)},
                "-header-packed-alone": {"local_packed_size": size, "after": descriptor(DATA, size)},
                "-header-size": {"local_size": 33, "after": descriptor(DATA, size)},
                "-header-packed": {"local_packed_size": size + 1, "after": descriptor(DATA, size)},
                "-gap": {"after": descriptor(DATA, size) + b"gap"},
                "-sizes": {"local_crc": zlib.crc32(DATA), "local_size": 32, "local_packed_size": size,
                           "after": descriptor(DATA, size)}}.items():
            case(f"descriptor-{method}{name}", with_first(method=method, flags=DESCRIPTOR, **change))
        case(f"descriptor-{method}-hidden", wheel(
            [Member(b"toy/data", DATA, method=method, flags=DESCRIPTOR, after=descriptor(DATA, size)),
             Member(b"toy/hidden.py", DATA, in_central=False)],
            record=lambda text: text.replace(row("toy/hidden.py", DATA), "")))
    case("encrypted", with_first(flags=1, content=b"x" * 32))
    case("bzip2", with_first(method=12, packed=bz2.compress(DATA)))
    case("method-9", with_first(method=9, packed=deflated(DATA)))
    case("method-97", with_first(method=97))
    case("twice-equal", wheel([member(), member()]))
    case("twice-other", wheel([member(), member(content=b"other")]))
    case("local-only", wheel([member(in_central=False)], record=lambda text: text.replace(ROW, "")))
    case("central-only", wheel([member(in_local=False)]))
    case("local-twice", wheel([member(in_central=False), member()]))
    case("local-name", with_first(local_name=b"toy/evil"))
    case("local-crc", with_first(local_crc=7))
    case("local-size", with_first(local_size=33))
    case("local-packed", with_first(local_packed_size=33))
    case("crc-wrong", with_first(crc=7))
    case("size-wrong", with_first(size=33))
    case("size-wrong-deflate-long", with_first(method=8, size=33))
    case("size-wrong-deflate-short", with_first(method=8, size=31))
    case("deflate-trailing", with_first(method=8, packed=deflated(DATA) + b"JUNK"))
    case("deflate-damaged", with_first(method=8, packed=b"\xff\xff" + deflated(DATA)))
    for name, (packed, content) in UNDEFINED.items():
        case(f"deflate-{name}", with_first(method=8, packed=packed, content=content))
    case("entry-comment", with_first(comment=b"c"))
    case("version-99", with_first(version=99))
    case("symlink", with_first(mode=0o120777, content=b"__init__.py"))
    case("folder-with-content", with_first(name=b"toy/sub/"))
    case("bomb", with_first(method=8, content=b"\0" * BOMB_BYTES))
    for name, text in {"not-utf8": b"toy/\xff", "utf8-no-flag": "toy/ä".encode(), "newline": b"toy/a\nb",
                       "nul": b"toy/a\0b", "del": b"toy/a\x7fb", "backslash": b"toy\\data",
                       "absolute": b"/tmp/ptpkg-evil", "climbs": b"toy/../../evil", "dot": b"./toy/data"}.items():
        case(f"name-{name}", with_first(name=text))
    case("name-not-utf8-flag", with_first(name=b"toy/\xff", flags=UTF8))
    case("name-utf8", with_first(name="toy/ä".encode(), flags=UTF8))


def archive_cases():
    case("right", wheel())
    case("deflated", with_first(method=8))
    case("folder", wheel([Member(b"toy/sub/", mode=0o40755)]))
    case("between", wheel([member(after=b"JUNK")]))
    case("two-archives", wheel() + wheel())
    case("truncated", wheel()[:-10])
    case("empty-zip", zip_bytes([]))
    case("no-zip", b"hello")
    for name, shape in {
            "archive-comment": Zip(comment=b"hello"), "prefix": Zip(prefix=b"#!/bin/sh\n"),
            "before-directory": Zip(before_directory=b"JUNK"), "before-end": Zip(before_end=b"JUNK"),
            "suffix": Zip(suffix=b"JUNK"), "suffix-newline": Zip(suffix=b"\n"),
            "zip-in-comment": Zip(comment=zip_bytes([member()])), "end-in-comment": Zip(comment=zip_bytes([])),
            "disk": Zip(disk=1), "count-more": Zip(count=9), "count-less": Zip(count=3),
            "directory-offset": Zip(directory_offset_more=1), "directory-size": Zip(directory_size_more=1)}.items():
        case(name, wheel(shape=shape))


def record_cases():
    case("record-none", wheel(record=lambda text: None))
    case("record-folder", wheel([Member(b"toy/sub/", mode=0o40755)], record=lambda text: "toy/sub/,,\n" + text))
    case("record-jws", wheel([Member(b"toy-1.0.dist-info/RECORD.jws", b"{}")],
                             record=lambda text: "".join(line for line in text.splitlines(True) if "jws" not in line)))
    case("record-p7s", wheel([Member(b"toy-1.0.dist-info/RECORD.p7s", b"x")],
                             record=lambda text: "".join(line for line in text.splitlines(True) if "p7s" not in line)))
    case("record-elsewhere", wheel([Member(b"toy/RECORD", b"x")],
                                   record=lambda text: text.replace(row("toy/RECORD", b"x"), "toy/RECORD,,\n")))
    case("sbom", wheel([Member(b"toy-1.0.dist-info/sboms/toy.cdx.json", b"{}")]))
    for name, change in {
            "digest": lambda text: text.replace("toy/data,sha256=", "toy/data,sha256=A"),
            "digest-other": lambda text: text.replace(ROW, row("toy/data", DATA[::-1])),
            "size": lambda text: text.replace(",32\n", ",33\n"),
            "unlisted": lambda text: text.replace(ROW, ""),
            "missing": lambda text: row("toy/absent", b"x") + text,
            "no-digest": lambda text: text.replace(ROW, "toy/data,,\n"),
            "no-size": lambda text: text.replace(",32\n", ",\n"),
            "md5": lambda text: text.replace(ROW, f"toy/data,md5={digest('md5')},32\n"),
            "sha512": lambda text: text.replace(ROW, f"toy/data,sha512={digest('sha512')},32\n"),
            "twice": lambda text: ROW + text,
            "crlf": lambda text: text.replace("\n", "\r\n"),
            "latin1": lambda text: (row("toy/ä", b"x") + text).encode("latin-1"),
            "two-columns": lambda text: "toy/data\n" + text,
            "own-digest-right": lambda text: text.replace("RECORD,,", f"RECORD,sha256={digest('sha256')},32"),
            "digest-short": lambda text: text.replace(ROW, "toy/data,sha256=AAAA,32\n"),
            "digest-short-absent": lambda text: "toy/gone,sha256=AAAA,32\n" + text,
            "sha384": lambda text: text.replace(ROW, f"toy/data,sha384={digest('sha384')},32\n"),
            "sha512-other": lambda text: text.replace(ROW, f"toy/data,sha512={digest('sha512', DATA[::-1])},32\n"),
            "size-word": lambda text: text.replace(",32\n", ",x\n"),
            "open-quote": lambda text: '"toy\n' + text,
            "own-digest": lambda text: text.replace("RECORD,,", "RECORD,sha256=abc,3"),
            "padded": lambda text: text.replace(ROW, ROW.replace(",32", "=,32"))}.items():
        case(f"record-{name}", with_record(change))


def metadata_cases():
    for name, text in {
            "none": None, "empty": "", "latin1": (METADATA + "Author: Jäger\n").encode("latin-1"),
            "utf16": METADATA.encode("utf-16"), "bom": METADATA.encode("utf-8-sig"),
            "crlf": METADATA.replace("\n", "\r\n"), "nul": METADATA + "Author: a\0b\n",
            "name-twice": METADATA + "Name: toy\n", "no-version": "Metadata-Version: 2.1\nName: toy\n",
            "no-metadata-version": "Name: toy\nVersion: 1.0\n", "name-other": METADATA.replace("toy", "tob"),
            "version-other": METADATA.replace("1.0\n", "1.1\n"),
            "expression-2.1": METADATA + "License-Expression: MIT\n"}.items():
        case(f"metadata-{name}", wheel(METADATA=text))
    case("description-markdown", wheel(METADATA=METADATA + "\n# Toy\n\n[docs](https://example.org)\n"))
    newest = METADATA.replace("2.1", "2.5")
    case("metadata-import-namespace", wheel(METADATA=newest + "Import-Name: toy.a\nImport-Namespace: toy\n"))
    case("metadata-extra-2.3", wheel(METADATA=METADATA.replace("2.1", "2.3") + "Provides-Extra: A_b\n"))
    licence = [Member(b"toy-1.0.dist-info/licenses/LICENSE", b"text")]
    named = METADATA.replace("2.1", "2.4") + "License-File: LICENSE\n"
    case("metadata-license-file", wheel(licence, METADATA=named))
    for version in ("1.0", "1.1", "1.2", "2.0", "2.2", "2.3", "2.4", "2.5", "2.6", "3.0", "x"):
        case(f"metadata-version-{version}", wheel(METADATA=METADATA.replace("2.1", version)))
    lines = FIELD_LINES.format(x32="x" * 32, x33="x" * 33, x512="x" * 512, x513="x" * 513, wide512="ä" * 512)
    for line in lines.strip().splitlines():
        name, _, text = line.partition(" | ")
        text = text.replace("\\n", "\n")
        case(f"field-{name}", wheel(METADATA=METADATA.replace("2.1", "2.4") + text + "\n"))


FIELD_LINES = """
requires-bad | Requires-Dist: a b c
requires-star | Requires-Dist: other (>=1.0.*)
requires-no-comma | Requires-Dist: other >=2.7<3
requires-quoted | Requires-Dist: other >='2.0'
requires-comma-last | Requires-Dist: other >=1,
requires-local | Requires-Dist: other>=2.6+cpu
requires-local-equal | Requires-Dist: other==2.6+cpu
requires-compatible | Requires-Dist: other~=2
requires-dev-star | Requires-Dist: other==2.0.dev1.*
requires-local-star | Requires-Dist: other==2.0+cpu.*
requires-url | Requires-Dist: other @ https://example.org/other-1.0.whl
python-star | Requires-Python: >=3.8.*
python-no-comma | Requires-Python: >=2.7<4
python-parentheses | Requires-Python: (>=3.8)
python-local | Requires-Python: >=3.6+cpu
python-compatible | Requires-Python: ~=3
python-spelled | Requires-Python: < 4, >= 3.8 ,!=3.9.*
python-bad | Requires-Python: >=three
classifier | Classifier: No Such :: Thing
classifier-right | Classifier: Topic :: Internet
classifier-old | Classifier: Natural Language :: Ukranian
classifier-private | Classifier: Private :: Do Not Upload
summary-512 | Summary: {x512}
summary-513 | Summary: {x513}
summary-512-wide | Summary: {wide512}
summary-lines | Summary: a\\n        b
summary-twice | Summary: a\\nSummary: b
label-32 | Project-URL: {x32}, https://example.org/
label-33 | Project-URL: {x33}, https://example.org/
label-none | Project-URL: https://example.org/
url-none | Project-URL: Home
url-bad | Project-URL: Home, no url
home-bad | Home-page: UNKNOWN
email-bad | Author-email: nobody
email-local | Author-email: root@localhost
email-right | Author-email: A B <a@example.org>
email-list | Author-email: a@example.org, b@example.org
license-file | License-File: LICENSE
license-climbs | License-File: ../x
license-both | License: MIT\\nLicense-Expression: MIT
expression | License-Expression: Apache-2.0 AND Apache-2.0 WITH LLVM-exception AND BSD-2-Clause AND BSL-1.0 AND MIT
expression-lower | License-Expression: mit or (apache-2.0 with llvm-exception)
expression-ref | License-Expression: LicenseRef-Proprietary
expression-ref-case | License-Expression: licenseref-a or LICENSEREF-b
expression-ref-plus | License-Expression: LicenseRef-a+
expression-document | License-Expression: DocumentRef-x:LicenseRef-y
expression-unknown | License-Expression: GPL
expression-open | License-Expression: (MIT
expression-two | License-Expression: MIT Apache-2.0
content-type | Description-Content-Type: text/html
content-rst | Description-Content-Type: text/x-rst
dynamic-name | Dynamic: name
dynamic-unknown | Dynamic: foo
dynamic-right | Dynamic: summary
extra-bad | Provides-Extra: a b
extra-case | Provides-Extra: A_b
unknown | Foo: bar
import-name | Import-Name: toy
import-name-bad | Import-Name: to-y
import-name-private | Import-Name: _toy ; private
requires-extra | Provides-Extra: x\\nRequires-Dist: other; extra == 'x'
provides-url | Provides-Dist: x @ https://example.org/x
platform | Platform: any
"""


def name_cases():
    case("file-name-case", wheel(), "Toy-1.0-py3-none-any.whl")
    case("file-name-build", wheel(), "toy-1.0-x1-py3-none-any.whl")
    case("file-name-short", wheel(), "toy-1.0.whl")
    case("file-name-version", wheel(), "toy-1.00-py3-none-any.whl")
    case("file-name-build-only", wheel(), "toy-1.0-2-py3-none-any.whl")
    case("file-name-build-both", wheel(WHEEL=WHEEL + "Build: 2\n"), "toy-1.0-2-py3-none-any.whl")
    case("file-name-tags", wheel(WHEEL=WHEEL + "Tag: py2-none-any\n"), "toy-1.0-py2.py3-none-any.whl")
    case("file-name-tags-order", wheel(WHEEL=WHEEL + "Tag: py2-none-any\n"), "toy-1.0-py3.py2-none-any.whl")
    case("wheel-tags-compressed", wheel(WHEEL=WHEEL.replace("py3-", "py2.py3-")), "toy-1.0-py2.py3-none-any.whl")
    local = METADATA.replace("Version: 1.0\n", "Version: 1.0+cu130\n")
    case("local-version", wheel(info="toy-1.0+cu130.dist-info/", METADATA=local), "toy-1.0+cu130-py3-none-any.whl")
    # Those of other systems are refused here by pip and uv for that alone: tests/unit/verify/platform_policies_test.cpp has them.
    for platform in ("linux_x86_64", "manylinux_2_17_x86_64", "manylinux1_x86_64"):
        case(f"platform-{platform}", wheel(WHEEL=WHEEL.replace("any", platform)), f"toy-1.0-py3-none-{platform}.whl")
    case("dist-info-version", wheel(info="toy-2.0.dist-info/"))
    case("file-name-zeros", wheel(info="toy-1.0.0.dist-info/"), "toy-1.0.0-py3-none-any.whl")
    case("variant-name", wheel(), "toy-1.0-py3-none-any-x86_64_v3.whl")
    case("dist-info-two", wheel([Member(b"other-1.dist-info/METADATA", b"x")]))
    case("dist-info-other", wheel(info=OTHER))
    case("dist-info-case", wheel(info="Toy-1.0.dist-info/"))
    for name, change in {
            "none": lambda text: None, "2.0": lambda text: text.replace("Version: 1.0", "Version: 2.0"),
            "1.9": lambda text: text.replace("Version: 1.0", "Version: 1.9"),
            "x": lambda text: text.replace("Version: 1.0", "Version: x"),
            "no-version": lambda text: text.replace("Wheel-Version: 1.0\n", ""),
            "no-tag": lambda text: text.replace("Tag: py3-none-any\n", ""),
            "tag-foo": lambda text: text.replace("Tag: py3-none-any", "Tag: foo"),
            "other-tag": lambda text: text.replace("py3", "py2"),
            "build": lambda text: text + "Build: 2\n",
            "purelib-twice": lambda text: text + "Root-Is-Purelib: false\n",
            "no-purelib": lambda text: text.replace("Root-Is-Purelib: true\n", ""),
            "latin1": lambda text: (text + "X: ä\n").encode("latin-1")}.items():
        case(f"wheel-{name}", wheel(WHEEL=change(WHEEL)))


def entry_point_cases():
    for line in SCRIPT_LINES.strip().splitlines():
        name, _, text = line.partition(" | ")
        case(f"script-{name}", wheel(entry_points_txt=text.replace("\\n", "\n") + "\n"))
    case("script-latin1", wheel(entry_points_txt="[console_scripts]\ntöy = toy:main\n".encode("latin-1")))
    for name in ("foo/x", "scripts/x", "scripts/sub/x", "scripts/python3", "data/bin/python", "purelib/toy2.py"):
        case(f"data-{name}", wheel([Member(b"toy-1.0.data/" + name.encode(), b"#!python\n")]))
    case("data-other", wheel([Member(b"other-1.0.data/scripts/x", b"#!python\n")]))


SCRIPT_LINES = r"""
right | [console_scripts]\ntoy = toy:main
climbs | [console_scripts]\n../toy = toy:main
space | [console_scripts]\nto y = toy:main
colon | [console_scripts]\ntoy : toy:main
python | [console_scripts]\npython = toy:main
python3 | [console_scripts]\npython3.11 = toy:main
upper | [gui_scripts]\nPython = toy:main
pythonx | [console_scripts]\npythonx = toy:main
no-object | [console_scripts]\ntoy = toy
no-equals | [console_scripts]\ntoy
no-group | toy = toy:main
twice | [console_scripts]\ntoy = toy:main\ntoy = toy:main
group-twice | [console_scripts]\ntoy = toy:main\n[console_scripts]\ntob = toy:main
other-group | [other.group]\na b = toy:main
slash | [console_scripts]\na/b = toy:main
"""

archive_cases()
zip64_cases()
member_cases()
record_cases()
metadata_cases()
name_cases()
entry_point_cases()
