"""Random wheels: a right wheel with one thing changed in a way that some consumer may refuse.

KINDS maps the name of each kind to a function that takes a random.Random and returns (description, bytes, file name). Equal
seeds give equal wheels. wheel_differential.py asks the consumers.
"""
import struct
import unicodedata
import zlib

from wheel_bytes import (INFO, MAX32, METADATA, NAME, UTF8, WHEEL, Member, Zip, descriptor, field, row, wheel,
                         with_first, zip64_sizes)

ABOVE_64 = 2 ** 64
DATA = b"some data, some data, some data\n"
ROW = row("toy/data", DATA)
MAIN = Member(b"toy/data", DATA)
PATH_FIELD, COMMENT_FIELD, TIME_FIELD, ZIP64_FIELD = 0x7075, 0x6375, 0x5455, 1
KINDS = {}


def kind(function):
    KINDS[function.__name__.replace("_", "-")] = function
    return function


def of_classes(rng, classes):
    """A random character of the Unicode classes; the usual suspects more often than the others."""
    known = "\x01\x1f\x7f\x80\x9f\xad\u061c\u180e\u200b\u200e\u202e\u2066\u2028\ufeff\ufff9\ufffe\ufdd0\ue000\U000e0001\U000e0041\U000f0000"
    while True:
        char = rng.choice(known) if rng.random() < 0.3 else chr(rng.choice([rng.randrange(0x100), rng.randrange(0x3000),
                                                                            rng.randrange(0x10000), rng.randrange(0x110000)]))
        if unicodedata.category(char) in classes and char not in "\0/\\\n\r":
            return char


def named(name, **changes):
    changes.setdefault("flags", UTF8)
    return with_first(name=name.encode("utf-8", "surrogatepass"), **changes)


# Names.
@kind
def name_of_other_class(rng):
    char = of_classes(rng, ("Cc", "Cf", "Cn", "Co"))
    name = rng.choice([f"toy/a{char}b", f"toy/{char}", f"{char}toy/x", f"toy/x{char}", f"toy/{char}/x.py"])
    return ascii(name), named(name), NAME


@kind
def name_of_printed_class(rng):
    char = of_classes(rng, ("Lu", "Ll", "Lo", "Mn", "Nd", "No", "Ps", "Sm", "So", "Zs", "Zl", "Zp", "Po"))
    name = rng.choice([f"toy/a{char}b", f"toy/{char}", f"toy/x{char}"])
    return ascii(name), named(name), NAME


@kind
def name_form(rng):
    name = rng.choice(["./toy/data", "toy//data", "toy/./data", "toy/../data", "/tmp/ptpkg-evil", "../toy", "toy\\data", "C:/toy", "C:toy",
                       "toy/data.", "toy/data ", " toy/data", "toy/CON", "toy/nul.py", "toy/a:b", "~/x", "toy/" + "x" * 255,
                       "toy/" + "x" * 256, "toy/" + "ä" * 128, "/".join(["d"] * 120) + "/x", "toy/data/", ".", "toy/.", "toy/..", "\\x"])
    return ascii(name[:60]), named(name), NAME


@kind
def name_twice(rng):
    other = rng.choice([MAIN, Member(b"toy/data", b"other\n"), Member(b"./toy/data", DATA), Member(b"toy//data", DATA),
                        Member(b"toy/data/x", DATA), Member(b"toy/data/", b""), Member(b"toy/DATA", b"other\n"), Member(b"Toy/x", DATA)])
    pair = [MAIN, other]
    rng.shuffle(pair)
    return str(other.name), wheel(pair), NAME


# Extra fields.
def path_field(rng, name=b"toy/data"):
    crc = zlib.crc32(name)
    return rng.choice([b"\1" + struct.pack("<I", crc) + name, b"\1" + struct.pack("<I", crc ^ 1) + name,
                       b"\1" + struct.pack("<I", crc ^ 1) + b"toy/evil", b"\1" + struct.pack("<I", crc) + b"toy/evil",
                       b"\1" + struct.pack("<I", crc), b"\1" + struct.pack("<I", crc ^ 1), b"\2" + struct.pack("<I", crc) + name,
                       b"\2" + struct.pack("<I", crc) + b"toy/evil", b"\0", b"", b"\1", b"\1abc", b"\2",
                       b"\1" + struct.pack("<I", crc) + b"toy/\xff", b"\1" + struct.pack("<I", crc) + b"toy/data\0x"])


def places(rng, extra):
    return rng.choice([{"extra": extra}, {"local_extra": extra}, {"extra": extra, "local_extra": extra}])


@kind
def extra_unicode_path(rng):
    extra = field(PATH_FIELD, path_field(rng))
    if rng.random() < 0.4:
        extra += field(PATH_FIELD, path_field(rng))
    change = places(rng, extra)
    return f"{sorted(change)} {extra!r}", with_first(**change), NAME


@kind
def extra_any(rng):
    one = rng.choice([field(COMMENT_FIELD, path_field(rng)), field(TIME_FIELD, b"\1aaaa"), field(0x9999, b"x"), field(0x9999, b""),
                      field(ZIP64_FIELD, b""), zip64_sizes(32), zip64_sizes(32, 32), zip64_sizes(32, 33), field(0x7875, b"\1\4aaaa\4aaaa")])
    extra = rng.choice([one, one + one, one[:-1] if len(one) > 4 else one[:3], one + b"\0", one + b"\0\0\0\0", b"\0\0", b"ab\xff\xff"])
    change = places(rng, extra)
    return f"{sorted(change)} {extra!r}", with_first(**change), NAME


# The zip layer.
@kind
def local_against_central(rng):
    method = rng.choice([0, 8])
    change = rng.choice([{"local_crc": 7}, {"local_crc": 0}, {"local_size": 33}, {"local_size": 0}, {"local_packed_size": 33},
                         {"local_packed_size": 0}, {"local_name": b"toy/evil"}, {"local_name": b"TOY/data"}, {"local_name": b""},
                         {"crc": 7}, {"crc": 0}, {"size": 31}, {"size": 33}, {"size": 0}, {"packed_size": 31}, {"packed_size": 33},
                         {"offset": 0}, {"offset": 1}, {"offset": 5}, {"size": MAX32}, {"local_size": MAX32}, {"packed_size": MAX32},
                         {"offset": MAX32}, {"central_flags": UTF8 | 8},
                         {"flags": UTF8 | 8, "central_flags": UTF8, "after": descriptor(DATA, len(DATA))}])
    return f"{method} {change}", with_first(method=method, **change), NAME


@kind
def member_header(rng):
    change = rng.choice([{"flags": 1}, {"flags": 0x20}, {"flags": 0x40}, {"flags": 0x2000}, {"flags": 0x10}, {"flags": 8},
                         {"flags": 2}, {"flags": 0x4000}, {"flags": 0x8000}, {"version": 0}, {"version": 45}, {"version": 63},
                         {"version": 64}, {"version": 0x0A14}, {"method": 1}, {"method": 9}, {"method": 12}, {"method": 14},
                         {"method": 93}, {"method": 95}, {"method": 96}, {"method": 98}, {"method": 99}, {"comment": b"c"},
                         {"comment": b"PK\5\6"}, {"after": b"x"}, {"after": b"\0" * 16}, {"after": b"PK\7\x08"},
                         {"after": descriptor(DATA, len(DATA))}])
    return str(change), with_first(**change), NAME


@kind
def member_mode(rng):
    mode = rng.choice([0, 0o644, 0o100644, 0o100755, 0o104755, 0o102755, 0o101777, 0o120777, 0o40755, 0o10644, 0o20644, 0o60644,
                       0o140644, 0o100000, 0o170644, 0o30644])
    name = rng.choice([b"toy/data", b"toy/sub/"])
    return f"{name} {mode:o}", with_first(name=name, mode=mode, content=rng.choice([DATA, b"", b"__init__.py", b"../../x", b"/etc/passwd"])), NAME


@kind
def around(rng):
    junk = rng.choice([b"\0", b"\0" * 30, b"x", b"\n", b"PK\5\6", b"PK\3\4", b"PK\5\6" + bytes(18), b"PK\1\2" + bytes(42), wheel()])
    place = rng.choice(["prefix", "before_directory", "before_end", "suffix", "comment", "zip64"])
    return f"{place} {junk[:20]!r} {len(junk)}", wheel(shape=Zip(**{place: junk})), NAME


@kind
def end_record(rng):
    change = rng.choice([{"count": 0}, {"count": 1}, {"count": 5}, {"count": 0xFFFF}, {"disk": 1}, {"disk": 0xFFFF},
                         {"directory_size_more": 1}, {"directory_size_more": -1}, {"directory_offset_more": 1},
                         {"directory_offset_more": -1}, {"zip64": b""}, {"zip64": b"", "plain_end_is_full": True},
                         {"zip64": b"", "zip64_locator": False}, {"zip64": b"12345678"}, {"zip64": b"", "count": 1}])
    return str(change), wheel(shape=Zip(**change)), NAME


@kind
def byte(rng):
    """One byte of a right wheel is another, one more or one less."""
    data = bytearray(with_first(method=rng.choice([0, 8])))
    at = rng.randrange(len(data))
    way = rng.choice(["other", "bit", "more", "less"])
    if way == "other":
        data[at] = rng.randrange(256)
    elif way == "bit":
        data[at] ^= 1 << rng.randrange(8)
    elif way == "more":
        data.insert(at, rng.choice([0, 32, 255, data[at]]))
    else:
        del data[at]
    return f"{way} {at}", bytes(data), NAME


# RECORD.
@kind
def record_line(rng):
    """A line more, at the beginning, between two, or at the end."""
    line = rng.choice(["\n", "\r\n", "\n\n", " \n", "\t\n", "\r", ",,\n", ",\n", '""\n', '"",,\n', "toy/gone,,\n", "toy/gone,sha256=AAAA,1\n",
                       "# comment\n", "toy/data\n", "toy/data,\n", "toy/data,,,\n", ROW, ROW.replace(",32", ",33"), "toy/sub/,,\n",
                       "/toy/x,,\n", "../x,,\n", "toy/é,,\n", "\f\n", "\x1c\n", "\u2028\n", "\x85\n", "\ufeff\n", "\0\n"])
    place = rng.choice(["first", "between", "last"])

    def change(text):
        lines = text.splitlines(keepends=True)
        return "".join([line, *lines] if place == "first" else [*lines, line] if place == "last" else [lines[0], line, *lines[1:]])
    return f"{place} {line!r}", wheel([MAIN], record=change), NAME


@kind
def record_field(rng):
    digest = ROW.split(",")[1]
    path, sha, size = "toy/data", digest, "32"
    part = rng.choice(["path", "sha", "size", "quotes"])
    if part == "path":
        path = rng.choice(["./toy/data", "toy//data", "toy/./data", "toy\\data", "/toy/data", " toy/data", "toy/data ", "TOY/data", "", "toy/x/../data",
                           "toy/data/"])
    elif part == "sha":
        sha = rng.choice(["", "sha256=", digest + "=", digest[:-1], digest.upper(), digest.replace("sha256", "SHA256"), digest.replace("sha256", "sha-256"),
                          digest.replace("sha256=", "sha256:"), digest[7:], "md5=AAAA", "x=y", "sha256=AAAA", " " + digest, digest + " ", "sha1=AAAA",
                          digest.replace("sha256", "sha512"), digest.replace("sha256", "blake2b"), "none", "sha256==" + digest[7:]])
    elif part == "size":
        size = rng.choice(["", "33", "31", "+32", "032", " 32", "32 ", "3_2", "-32", "32.0", "0x20", "٣٢", "99999999999999999999", "a", "32\t", "1e1"])
    text = f"{path},{sha},{size}\n"
    if part == "quotes":
        text = rng.choice([f'"{path}",{sha},{size}\n', f'"{path}","{sha}","{size}"\n', f'"{path}"x,{sha},{size}\n', f' "{path}",{sha},{size}\n',
                           f'"{path}" ,{sha},{size}\n', f'to"y/data,{sha},{size}\n', f'"toy/data,{sha},{size}\n', f"'{path}',{sha},{size}\n",
                           f'"toy/data\n",{sha},{size}\n', f'{path},"{sha}\n",{size}\n', f"{path};{sha};{size}\n", f"{path}\t{sha}\t{size}\n",
                           f"{path}, {sha}, {size}\n", f"{path},{sha},{size},\n", f"{path},{sha}\n", f"{path}\n", f'"toy/da""ta",{sha},{size}\n'])
    return repr(text), wheel([MAIN], record=lambda whole: whole.replace(ROW, text)), NAME


@kind
def record_form(rng):
    name, change = rng.choice([
        ("cr", lambda text: text.replace("\n", "\r")), ("crlf", lambda text: text.replace("\n", "\r\n")), ("no end", str.rstrip),
        ("bom", lambda text: "\ufeff" + text), ("utf-16", lambda text: text.encode("utf-16")), ("latin-1", lambda text: text.encode() + b"toy/\xe4,,\n"),
        ("nul", lambda text: text.replace("toy/data", "toy/da\0ta")), ("empty", lambda text: ""), ("none", lambda text: None), ("blank", lambda text: "\n"),
        ("own row", lambda text: text.replace("RECORD,,", "RECORD,sha256=abc,3")), ("own size", lambda text: text.replace("RECORD,,", "RECORD,,3")),
        ("no own row", lambda text: text.replace(INFO + "RECORD,,\n", "")), ("header", lambda text: "path,hash,size\n" + text),
        ("sorted", lambda text: "".join(sorted(text.splitlines(keepends=True)))), ("last open", lambda text: text + '"'),
        ("no row", lambda text: text.replace(ROW, "")), ("lower", lambda text: text.replace("RECORD", "record")),
        ("jws row", lambda text: text + INFO + "RECORD.jws,,\n"), ("twice", lambda text: text + text)])
    return name, wheel([MAIN], record=change), NAME


# WHEEL and METADATA.
def header_form(rng, text, line):
    """`text` with its `line` ("Field: value") in another form, that readers may take for another text."""
    name, _, value = line.partition(": ")
    first, rest = value[:1], value[1:]
    forms = {
        "lower": line.replace(name, name.lower()), "upper": line.replace(name, name.upper()), "title": line.replace(name, name.title()),
        "no space": f"{name}:{value}", "spaces": f"{name}:   {value}  ", "tab": f"{name}:\t{value}", "space before colon": f"{name} : {value}",
        "folded": f"{name}:\n {value}", "folded in": f"{name}: {first}\n {rest}", "folded after": f"{name}: {value}\n ", "folded tab": f"{name}:\n\t{value}",
        "folded twice": f"{name}:\n \n {value}", "pipe": f"{name}: {value}\n       |x", "quoted": f'{name}: "{value}"', "comment": f"{name}: {value} # c",
        "comment rfc": f"{name}: {value} (c)", "twice": f"{line}\n{line}", "twice other": f"{line}\n{name}: x", "other first": f"{name}: x\n{line}",
        "none": None, "empty": f"{name}:", "encoded": f"{name}: =?utf-8?q?{value}?=", "encoded b": f"{name}: =?utf-8?b?eA==?=", "no colon": f"{name} {value}",
        "equals": f"{name}={value}", "indented": f" {line}", "nul": f"{line}\0", "cr": f"{line}\r", "cr in": f"{name}: {first}\r{rest}", "vt": f"{line}\v", "ff in": f"{name}: {first}\f{rest}",
        "nel in": f"{name}: {first}\x85{rest}", "ls in": f"{name}: {first}\u2028{rest}", "wide": f"{name}: {value}é", "nbsp": f"{name}:\u00a0{value}", "bom": "\ufeff" + line, "blank before": f"\n{line}",
        "junk before": f"junk\n{line}", "from before": f"From x\n{line}", "colon before": f": x\n{line}", "space name": f"a b: x\n{line}", "wide name": f"é: x\n{line}", "comment line": f"# c\n{line}"}
    form = rng.choice(sorted(forms))
    new = forms[form]
    return form, text.replace(line + "\n", "" if new is None else new + "\n")


@kind
def wheel_form(rng):
    line = rng.choice(WHEEL.splitlines())
    form, text = header_form(rng, WHEEL, line)
    return f"{line}: {form}", wheel(WHEEL=text), NAME


@kind
def wheel_version(rng):
    value = rng.choice(["1", "1.", "1.0", "1.1", "1.9", "1.10", "1.0.0", "1.0rc1", "1..0", "1.0 # c", "2.0", "2", "0.1", "0.9", "0", "01.0", "1.00", "+1.0",
                        "1.+0", "-1.0", "1_0.0", "1.0_1", "1._0", "١.٠", "1.x", "x", "v1.0", "1,0", "1.0;", "1. 0", "1 .0", ".1", "10.0", "1.0\t", "1.0-1", "1e0",
                        "1.0a", "0x1.0", "1.0.", "", "1.²"])
    return repr(value), wheel(WHEEL=WHEEL.replace("Wheel-Version: 1.0", f"Wheel-Version: {value}")), NAME


@kind
def wheel_value(rng):
    line, value = rng.choice([("Root-Is-Purelib: true", "True"), ("Root-Is-Purelib: true", "TRUE"), ("Root-Is-Purelib: true", "yes"),
                              ("Root-Is-Purelib: true", "1"), ("Root-Is-Purelib: true", "false"), ("Root-Is-Purelib: true", "False"),
                              ("Root-Is-Purelib: true", "maybe"), ("Tag: py3-none-any", "py3-none"), ("Tag: py3-none-any", "py2-none-any"),
                              ("Tag: py3-none-any", "PY3-none-any"), ("Tag: py3-none-any", "py3 - none - any"), ("Tag: py3-none-any", "py2.py3-none-any"),
                              ("Tag: py3-none-any", "-none-any"), ("Tag: py3-none-any", "py3-none-any\nTag: py3-none-any"), ("Generator: test", "é"),
                              ("Tag: py3-none-any", "py3-none-any\nBuild: 1"), ("Tag: py3-none-any", "py3-none-any\nFoo: bar")])
    return f"{line} {value!r}", wheel(WHEEL=WHEEL.replace(line, line.split(":")[0] + ": " + value)), NAME


@kind
def metadata_form(rng):
    whole = METADATA + "Requires-Python: >=3.8\nRequires-Dist: other>=1.0\nProvides-Extra: x\nSummary: short\n"
    line = rng.choice(whole.splitlines())
    form, text = header_form(rng, whole, line)
    return f"{line}: {form}", wheel(METADATA=text + rng.choice(["", "\nbody\n"])), NAME


@kind
def metadata_identity(rng):
    line, value = rng.choice([
        *(("Version: 1.0", value) for value in ("1", "1.0.0", "v1.0", "1.0.post0", "1.0+x", "1.0.dev0", "1_0", "1.0-1", " 1.0 ", "1.0a", "x", "1.0\u00a0", "01.0", "1!1.0",
                                                "1.1", "1.0c0", "1.0.0.0")),
        *(("Name: toy", value) for value in ("TOY", "to-y", "toy.", "-toy", "toy-", "to y", "tôy", "t_oy", "toy\u00a0", "toy;x", "tоy", "toys", "UNKNOWN")),
        *(("Metadata-Version: 2.1", value) for value in ("1.0", "1.1", "1.2", "2", "2.0", "2.2", "2.3", "2.4", "2.5", "2.6", "2.10", "3.0", "2.1.0", "02.1", "2.1rc1", "x", "2.1 # c",
                                                         "1.3", "0.1", "2."))])
    return f"{line} {value!r}", wheel(METADATA=METADATA.replace(line, line.split(":")[0] + ": " + value)), NAME


# Markers and addresses, each of one kind that a reader may refuse.
MARKERS = ["{} {} '{}'".format(variable, op, value) for variable in ("os_name", "python_version", "python_full_version", "platform_release", "implementation_version", "extra", "platform_machine", "extras")
           for op in ("==", "~=", "===", ">=", "in", "not in") for value in ("x", "1.0", "3", "3.11.*")] + ["'3.8' ~= python_version", "'x' in extras", "'posix' ~= os_name", "os_name == sys_platform"]
ADDRESSES = [f"{scheme}e.org/{path}" for scheme in ("https://", "http://", "ssh://", "git+https://", "git+ssh://", "hg+https://", "svn+https://", "ftp://", "file://", "//", "")
             for path in ("", "x", "x.whl", "x.tar.gz", "x.egg", "x.ZIP", "x?y=x.zip", "x.zip#egg=x", "x.tar.lz", "x.tlz", "x.7z")]
REQUIREMENTS = ["other", "other>=1", "other >= 1", "other (>=1)", "other (>=1", "other>=1)", "other()", "other[]", "other[x]", "other[x,]", "other[,x]", "other[x y]", "other[x]>=1",
                "other >=1,", "other >=1,<2", "other >=1 <2", "other >=1;", "other; python_version", "other; python_version>'3'", "other; python_version > 3", "other; os_name == 'x'",
                "other; extra == 'x'", "other; foo == 'x'", "other; 'x' in extras", "other; python_version>'3' and", "other; (os_name=='x'", "other; os_name=='x' or os_name=='y'", "other;python_version>=\"3\"",
                "other==1.*", "other>=1.*", "other~=1", "other~=1.0", "other===x", "other===1 0", "other=1", "other>1.0+x", "other==1.0+x", "other @ https://e.org/x", "other@https://e.org/x ; os_name=='x'", "other @ ",
                "other @ file:x", "-other", "other-", "öther", "other>=١", "other>=1.0.0.0.0", "other>=v1", "other >= 1.0-1", "other>=x", "other!=1", "other<>1", "other=>1", "other=<1", ">=1", "", "other # c", "other>=1 # c",
                "other>=1 other", "other, another", "other.x_y", "other;sys.platform=='x'", "other; python_implementation=='x'", "other; platform.version=='x'", "other ; extra=='a' and extra=='b'", "other; 'win' in sys_platform",
                "other; python_version in '2.7, 3.0'", "other; python_version not in '2.7'", "other; python_full_version < '3.8.0rc1'", "other; os_name === 'x'", "other; os_name ~= 'x'", "other; python_version ~= '3.8'", "other; implementation_version<'3'",
                "other>=1.0a", "other>=1.0.dev", "other==1!0", "other>=1.0+", f"other>={ABOVE_64}", f"other!={ABOVE_64 - 1}!1", f"other==1a{ABOVE_64}", f"other==1+{ABOVE_64}", f"other<{ABOVE_64 - 2}",
                "other\n >=1", "other\n  >=1,\n  <2", "other >=\n 1", "ot\n her", "other; os_name == '\n x'"]


@kind
def metadata_requires(rng):
    text = rng.choice([rng.choice(REQUIREMENTS), "other; " + rng.choice(MARKERS), "other @ " + rng.choice(ADDRESSES)])
    return repr(text), wheel(METADATA=METADATA + f"Requires-Dist: {text}\n"), NAME


@kind
def metadata_python(rng):
    text = rng.choice([">=3.8", ">= 3.8", ">=3", "3", ">=3.8,", ">=3.8,<4", ">=3.8 <4", ">=3.8.*", "~=3.8", "~=3", "==3.*", "===3.11", ">=3.8; x", "(>=3.8)", ">=3.8 # c", ">=3.8rc1",
                       ">=3.8+x", ">= 3.8 , < 4", "!=3.0.*", "!=3.0,>=2.7", ">=v3", ">3.8.x", "=>3.8", "*", "", "any", ">=3,8", ">='3.8'", "<4,>=3.8", ">=3.8||<2", "^3.8", "~3.8", ">=3\n .8",
                       ">=3.8,\n <4", ">=\n 3.8", ">=٣", f"!={ABOVE_64}", f"<{ABOVE_64 - 1}.1"])
    return repr(text), wheel(METADATA=METADATA + f"Requires-Python: {text}\n"), NAME


@kind
def metadata_bytes(rng):
    name, text = rng.choice([
        ("bom", METADATA.encode("utf-8-sig")), ("utf-16", METADATA.encode("utf-16")), ("latin-1", METADATA.encode() + b"Author: J\xe4ger\n"),
        ("latin-1 body", METADATA.encode() + b"\nJ\xe4ger\n"), ("crlf", METADATA.replace("\n", "\r\n").encode()), ("cr", METADATA.replace("\n", "\r").encode()),
        ("nul", METADATA.encode() + b"Author: a\0b\n"), ("nul body", METADATA.encode() + b"\na\0b\n"), ("no end", METADATA.rstrip().encode()), ("empty", b""), ("blank first", b"\n" + METADATA.encode()),
        ("space first", b" " + METADATA.encode()), ("control", METADATA.encode() + b"Author: a\x1bb\n"), ("surrogate", METADATA.encode() + b"Author: \xed\xa0\x80\n"), ("mixed", METADATA.replace("\n", "\r\n", 1).encode()),
        ("long", METADATA.encode() + b"Author: " + b"x" * 100000 + b"\n"), ("form feed", METADATA.encode() + b"\f\n"), ("encoded", METADATA.encode() + b"Author: =?utf-8?q?x?=\n"), ("bad encoded", METADATA.encode() + b"Author: =?utf-8?q?=ff?=\n"),
        ("unknown encoded", METADATA.encode() + b"Author: =?no-such?q?x?=\n")])
    return name, wheel(METADATA=text), NAME


# Entry points.
SCRIPT_NAMES = ["toy", ".", "..", "a/b", "/abs", "../x", "a\\b", "a b", "python", "python3", "Python", "PYTHON.EXE", "python.exe", "python3.12", "python3.12t", "pythonw3.12t", "python3.999", "python3.", "python2",
                "python2.7", "pythonw", "pythonw3", "python.py", "python3.py", "pypy", "pypy2", "pypy3", "pypy3.10", "PyPy3", "graalpy", "graalpy.py", "graalpy.exe", "activate", "activate.fish", "activate_this.py", "pip", "pip3",
                "pip3.11", "easy_install", "Activate.ps1", "toy]", "toy\0x", "töy", "-toy", "toy.exe", "toy.py", "a:b", "toy[x]", "toy;x", "%", "%(x)s", "~", "con", "a" * 300, "toy\u200b", "python\u200b", ". ", "./x", "x/.", "x/..", "x/../y", "[toy", "a=b"]
SCRIPT_VALUES = ["toy:main", "toy.a:b.c", "toy : main", "toy:main [x]", "toy:main[x,y]", "toy:main [x", "toy:main x]", "toy:main []", "toy:main [x] y", "toy:main [,]", "toy:main[x][y]", "toy", "toy:", ":main", "toy:main:x", "toy main", "toy:ma in",
                 "to-y:main", "toy:ma-in", "1toy:main", "toy:1main", "toy..a:main", ".toy:main", "toy.:main", "toy:.main", "toy:main.", "toy:main()", "toy:main;import os", "töy:mäin", "class:main", "toy:class", "toy:main # c", "toy:main ; c",
                 "toy.main", "%(x)s:main", "toy:main%", "toy:main%%", "", "toy: main", "toy\t:\tmain", "toy:main\n  x", "toy:\n  main", "toy:main\n", "\n  toy:main", "toy:main [a b]", "toy:main [é]", "toy/a:main", "None", "toy:main=x"]


@kind
def script(rng):
    name = rng.choice(SCRIPT_NAMES) if rng.random() < 0.5 else "toy"
    value = rng.choice(SCRIPT_VALUES) if name == "toy" else "toy:main"
    group = rng.choice(["console_scripts", "gui_scripts", "console_scripts", "other.group"])
    separator = rng.choice([" = ", "=", " =", " : ", "\t=\t"] if rng.random() < 0.1 else [" = "])
    return f"{group} {name}{separator}{value!r}"[:120], wheel(entry_points_txt=f"[{group}]\n{name}{separator}{value}\n"), NAME


@kind
def script_file(rng):
    line = "toy = toy:main\n"
    good = "[console_scripts]\n" + line
    text = rng.choice([
        "", "\n", good + "\n", "# c\n" + good, "; c\n" + good, good + " # c\n", "[console_scripts]\n # c\n" + line, "[console_scripts]\n ; c\n" + line, "[console_scripts]\n " + line, " [console_scripts]\n" + line,
        "[console_scripts\n" + line, "console_scripts]\n" + line, "[]\n" + line, "[ console_scripts ]\n" + line, "[console_scripts] x\n" + line, "[console_scripts] # c\n" + line, "[console_scripts]]\n" + line, "[[console_scripts]]\n" + line,
        "[Console_Scripts]\n" + line, "[DEFAULT]\n" + line, "[DEFAULT]\nx = y\n" + good, "[default]\nx\n", line + good, line, "junk\n" + good, "[console_scripts]\ntoy\n", "[console_scripts]\ntoy =\n", "[console_scripts]\n= toy:main\n",
        good + line, good + good, good + "[gui_scripts]\n" + line, good + "[gui_scripts]\nTOY = toy:main\n", good + "TOY = toy:main\n", "\ufeff" + good, good.replace("\n", "\r\n"), good.replace("\n", "\r"), good.rstrip(), good + "\0", good + "x = é:main\n",
        good.encode("utf-16"), good.encode() + b"x\xe4 = toy:main\n", good + "[a]\n[b]\n", good + "[other]\nfree text\n", good + "[other]\nx = free text\n", good + "[other]\nx = toy\n", good + "[other]\nx =\n", good + "[other]\nx\n", good + "[other]\nx = a:b\nx = a:b\n",
        good + "[other]\n\n\n", good + "[other]\na b = toy:main\n", good + "[other]\nx = to y\n", good + "[other]\nx = %(y)s\n", good + "rem x\n", "[console_scripts]\ntoy = toy:main\n  [x]\n", "[console_scripts]\ntoy = toy\n  :main\n", good + "\t\n", good + "\f\n",
        good + "\x85\n", good + "\u2028\n", good + "[other]\n# c\n", good + "  indented = x:y\n", "[console_scripts]\n\n  toy = toy:main\n", "[console_scripts]\n\n\n" + line, good + "toy2: toy:main\n", "[console_scripts]\ntoy : toy:main\n", good + "toy2 toy:main\n"])
    return repr(text)[:120], wheel(entry_points_txt=text), NAME


# Tags of compiled wheels. No interpreter looks at the files.
PLATFORMS = ["linux_x86_64", "manylinux_2_17_x86_64.manylinux2014_x86_64", "manylinux_2_28_x86_64", "musllinux_1_2_x86_64", "macosx_11_0_arm64", "win_amd64", "any",
             "macosx_10_9_x86_64.manylinux_2_17_x86_64"]
REQUIRED = ["", "", "", ">=3.8", ">=3.12", "<3.9", "==3.11.*", "~=3.10", ">=3.9,<3.12", "<3", ">=2.7", "!=3.11.*", ">3.11", "<=3.11", "==3.11", "===3.11.4", ">=3.14", "<4", ">=3.99"]
ODD_PYTHONS = ["cp3", "cp321", "cp399", "cp2", "cp30", "pp3", "pp", "py", "py4", "cp311t", "cp3.11", "cp311d", "graalpy311", "ip27", "cp03", "cp3111", "python311", "any"]
ODD_ABIS = ["abi4", "abi2", "abi", "abi3.none", "cp3", "cp31", "cp311x", "cp311td", "cp311dt", "cp313td", "cp37dm", "cp27mu", "cp32mu", "pypy_73", "pypy39_pp73", "pypy311_pp73", "graalpy242_311_native", "any", "cp"]


@kind
def tags(rng):
    minor, other = rng.choice([2, 6, 7, 8, 9, 10, 11, 11, 12, 13, 13, 14, 15, 16]), rng.choice([8, 9, 10, 11, 12, 13, 14])
    python, abi = rng.choice([
        (f"cp3{minor}", f"cp3{minor}{'m' if minor < 8 else ''}"), (f"cp3{minor}", f"cp3{minor}t"), (f"cp3{minor}", f"cp3{other}"), (f"cp3{minor}", "abi3"), (f"cp3{minor}", "abi3t"),
        (f"cp3{minor}", "none"), (f"cp3{minor}.cp3{other}", f"cp3{minor}"), (f"cp3{minor}.cp3{other}", "abi3"), (f"py3{minor}", "none"), ("py3", "none"), ("py2.py3", "none"), ("py3", "abi3"),
        ("py2", "none"), ("cp27", "cp27mu"), ("cp27", "abi3"), (f"cp3{minor}", f"abi3.cp3{other}"), (f"py3{minor}", f"cp3{minor}"), (f"pp3{minor}", f"pypy3{minor}_pp73"), (f"pp3{minor}", f"pypy3{other}_pp73"),
        (f"pp3{minor}", f"cp3{minor}"), (f"cp3{minor}", f"pypy3{minor}_pp73"), ("pp3", "none"), (rng.choice(ODD_PYTHONS), rng.choice(["none", "abi3", "cp311"])), (f"cp3{minor}", rng.choice(ODD_ABIS))])
    platform, required = rng.choice(PLATFORMS), rng.choice(REQUIRED)
    build = rng.choice(["", "", "", "", "1", "0", "01", "1a", "1_x", "20240101"])
    file = f"toy-1.0{'-' if build else ''}{build}-{python}-{abi}-{platform}.whl"
    lines = "".join(f"Tag: {a}-{b}-{c}\n" for a in python.split(".") for b in abi.split(".") for c in platform.split("."))
    text = WHEEL.replace("Tag: py3-none-any\n", lines).replace("true", "false") + (f"Build: {build}\n" if build else "")
    return f"{file[4:-4]} for {required!r}", wheel(WHEEL=text, METADATA=METADATA + (f"Requires-Python: {required}\n" if required else "")), file


# Machines that Linux has come first. wheel_interpreters.py says which platforms are possible.
MACHINES = ["x86_64", "aarch64", "i686", "armv7l", "armv8l", "armv6l", "i386", "ppc64le", "ppc64", "s390x", "riscv64", "loongarch64", "mips64"]
ODD_MACHINES = ["amd64", "x64", "arm64", "x86_32", "foo", "", "X86_64"]
APPLE_MACHINES = ["x86_64", "arm64", "i386", "ppc", "universal2", "universal", "intel", "fat64", "amd64", "foo", "arm64_iphoneos", "x86_64_iphonesimulator", ""]


@kind
def platform(rng):
    number = lambda most: rng.choice(["", "", "", "", "", "0"]) + str(rng.randrange(most))
    machine = rng.choice(MACHINES + ODD_MACHINES)
    system = rng.choice([f"manylinux_{rng.choice('222222213')}_{number(45)}", f"musllinux_1_{number(5)}", "musllinux_2_0", "linux", "manylinux1", "manylinux2010", "manylinux2014",
                         "manylinux2015", "manylinux", "manylinux_2", "manylinux_02_17"])
    name = rng.choice([f"{system}_{machine}", f"{system}_{machine}", system, f"macosx_10_{number(19)}_{rng.choice(APPLE_MACHINES)}",
                       f"macosx_{rng.choice(['9', '11', '12', '15', '26', '011'])}_{rng.choice('00013')}_{rng.choice(APPLE_MACHINES)}",
                       f"ios_{rng.choice(['11', '12', '13', '17', '013'])}_{number(9)}_{rng.choice(APPLE_MACHINES)}",
                       f"android_{rng.choice(['15', '16', '21', '33', '021'])}_{rng.choice(['arm64_v8a', 'armeabi_v7a', 'x86', 'x86_64', 'arm64'])}",
                       rng.choice(["win32", "win_amd64", "win_arm64", "win64", "win_x86_64", "win_x64", "windows_amd64"])]).rstrip("_")
    return name, wheel(WHEEL=WHEEL.replace("none-any", f"none-{name}").replace("true", "false")), f"toy-1.0-py3-none-{name}.whl"


# Layout.
HEADERS = ["include/python3.11/toy/", "include/site/python3.11/toy/", "include/python3.12/Toy/", "include/python3.11/other/", "Include/toy/"]


@kind
def data_shared(rng):
    """A file of .data/data beside one of another scheme, that may have the same place."""
    other, places = rng.choice([("headers/a/x", [folder + "a/x" for folder in HEADERS]), ("scripts/x", ["bin/x", "Scripts/x", "bin/y"]),
                                ("purelib/a/x", ["lib/python3.11/site-packages/a/x", "Lib/site-packages/a/x", "lib/python3/site-packages/a/x"])])
    place = rng.choice(places)
    place = rng.choice([place, place, place + "/z", place.removesuffix("/x"), place[:-1] + "z"])
    return f"{other} {place}", wheel([Member(f"toy-1.0.data/{other}".encode(), b"#!python\n"), Member(f"toy-1.0.data/data/{place}".encode(), b"2\n")]), NAME


@kind
def data_file(rng):
    top = rng.choice(["toy-1.0.data"] * 6 + ["Toy-1.0.data", "toy-2.0.data", "other.data", ".data", "toy-1.0.0.data"])
    if rng.random() < 0.1:
        return f"{top}, a file", wheel([Member(top.encode(), b"x")]), NAME
    below = rng.choice(["purelib/x.py", "platlib/x.py", "headers/x.h", "scripts/x", "data/x", "scripts/sub/x", "scripts/a/b/c", "scripts/python3", "scripts/PYPY", "scripts/graalpy.exe", "scripts/python3.13t", "data/bin/python", "data/bin/pypy3", "data/bin/sub/python", "data/bin/x", "data/bin/x/y", "data/bin", "data/lib64", "data/pyvenv.cfg", "scripts/activate", "scripts/pip",
                        "purelib/toy", "purelib/toy/__init__.py/x", "purelib/toy/__init__.py/", "data/lib/python3.11/site-packages/toy/__init__.py", "data/include",
                        "data/lib/python3", "foo/x", "x", "data", "scripts", "purelib", "Scripts/x", "include/x", "data/../../x", "scripts/toy.exe", "purelib/toy/__init__.py", "headers/python3", "scripts/python.py", "data/bin/python3.py", "bin/x", "scripts/x/", "foo/", "data/",
                        "scripts/", "scripts/sub/", ""])
    points = rng.choice([{}, {}, {"entry_points_txt": "[console_scripts]\nx = toy:main\n"}])
    return f"{top}/{below} {sorted(points)}", wheel([Member(f"{top}/{below}".encode(), b"#!python\n" if not below.endswith("/") and below else b"")], **points), NAME


@kind
def dist_info(rng):
    extra, info = rng.choice([
        ([Member(b"other-1.dist-info/METADATA", b"x")], INFO), ([Member(b"other-1.dist-info/", b"")], INFO), ([Member(b"other-1.dist-info", b"x")], INFO), ([Member(b"x/other-1.dist-info/METADATA", b"x")], INFO),
        ([Member(b"toy-1.0.DIST-INFO/x", b"x")], INFO), ([Member(b".dist-info/x", b"x")], INFO), ([Member(b"toy.egg-info/PKG-INFO", b"x")], INFO), *(([Member(name, text)], INFO) for name in (b"toy.egg-info", b"other-1.egg-info/PKG-INFO", b"other.egg-info/x", b"toy-1.0.data/platlib/o.egg-info/PKG-INFO", b"x/o.egg-info/PKG-INFO")
          for text in (b"", b"Name: o\nVersion: 1\n", b"Name: o\nVersion: x y\n", b"Version: 1\n")),
        *(([Member((INFO + name).encode(), b"")], INFO) for name in ("INSTALLER/", "REQUESTED/x", "direct_url.json/x", "uv_cache.json/", "licenses/x", "top_level.txt/x", "uv_build.json/")), ([Member((INFO + "sub/METADATA").encode(), b"x")], INFO),
        ([Member((INFO + "RECORD.jws").encode(), b"x")], INFO), ([Member((INFO + "RECORD.p7s").encode(), b"x")], INFO), ([Member((INFO + "INSTALLER").encode(), b"pip\n")], INFO), ([Member((INFO + "direct_url.json").encode(), b"{}")], INFO),
        ([Member((INFO + "REQUESTED").encode(), b"")], INFO), ([Member(INFO.encode(), b"")], INFO),
        *(([], name + "/") for name in ("Toy-1.0.dist-info", "toy-1.0.0.dist-info", "toy-2.0.dist-info", "toy.dist-info", "toy-.dist-info", "toyx-1.0.dist-info", "to_y-1.0.dist-info", "tob-1.0.dist-info", "toy-1.0-1.dist-info", "toy-1.0.egg-info",
                                        "toy-1.0.Dist-Info", "toy--1.0.dist-info", "-1.0.dist-info", "toy-1.0 .dist-info", "toy-x.dist-info"))])
    return f"{[one.name for one in extra]} {info}", wheel(extra, info=info), NAME


@kind
def document(rng):
    name = rng.choice(["METADATA", "WHEEL", "RECORD", "entry_points.txt"])
    way = rng.choice(["none", "empty", "folder", "link", "lower"])
    texts = {"METADATA": METADATA, "WHEEL": WHEEL, "entry_points.txt": "[console_scripts]\ntoy = toy:main\n"}
    key = name.replace(".", "_")
    if name == "RECORD":
        change = {"none": lambda text: None, "empty": lambda text: "", "folder": lambda text: None, "link": lambda text: None, "lower": lambda text: None}[way]
        extra = [Member((INFO + "record").encode(), b"")] if way == "lower" else [Member((INFO + "RECORD/").encode(), b"")] if way == "folder" else []
        return f"{name} {way}", wheel(extra, record=change), NAME
    change = {"none": None, "empty": "", "folder": None, "link": None, "lower": None}[way]
    extra = {"folder": [Member((INFO + name + "/").encode(), b"")], "link": [Member((INFO + name).encode(), b"../toy/__init__.py", mode=0o120777)],
             "lower": [Member((INFO + name.lower() + ("" if name != name.lower() else "x")).encode(), texts[name].encode())]}.get(way, [])
    return f"{name} {way}", wheel(extra, **{key: change}), NAME


@kind
def file_name(rng):
    name = rng.choice(["toy-1.0-py3-none-any.whl", "Toy-1.0-py3-none-any.whl", "toy-1-py3-none-any.whl", "toy-1.0.0-py3-none-any.whl", "toy-v1.0-py3-none-any.whl", "toy-1_0-py3-none-any.whl", "toy-1.0-1-py3-none-any.whl", "toy-1.0-1a-py3-none-any.whl",
                       "toy-1.0-a1-py3-none-any.whl", "toy-1.0-1.2-py3-none-any.whl", "toy-1.0-1_2-py3-none-any.whl", "toy-1.0--py3-none-any.whl", "toy-1.0-py2.py3-none-any.whl", "toy-1.0-py3.py2-none-any.whl", "toy-1.0-py3.py3-none-any.whl", "toy-1.0-PY3-none-any.whl",
                       "toy-1.0-py3-NONE-any.whl", "toy-1.0-py3-none-ANY.whl", "toy-1.0-py3.-none-any.whl", "toy-1.0-.py3-none-any.whl", "toy-1.0-py3-none.abi3-any.whl", "toy-1.0-py3-none-any.any.whl", "toy-1.0-py3-none-any .whl", " toy-1.0-py3-none-any.whl",
                       "toy-1.0-py3-none.whl", "toy-py3-none-any.whl", "toy-x-py3-none-any.whl", "to_y-1.0-py3-none-any.whl", "to.y-1.0-py3-none-any.whl", "toy--1.0-py3-none-any.whl", "toy-1.0-py3-none-any-x.whl", "toy-1.1-py3-none-any.whl",
                       "toy-1.0+x-py3-none-any.whl", "toy-1.0-py33-none-any.whl", "toy-1.0-py311-none-any.whl", "toy-1.0-py3_-none-any.whl", "toy_-1.0-py3-none-any.whl", "_toy-1.0-py3-none-any.whl", "tôy-1.0-py3-none-any.whl", "toy-1.0-pÿ3-none-any.whl",
                       "toy-1.0-py3-none-any(1).whl", "toy-1.0-py3-none-any-.whl", "toy-1!1.0-py3-none-any.whl", "to__y-1.0-py3-none-any.whl", f"toy-1.0-{ABOVE_64}-py3-none-any.whl", f"toy-1.0-{ABOVE_64 - 1}x-py3-none-any.whl", f"toy-1.{ABOVE_64 - 1}-py3-none-any.whl", "toy-1.0-0-py3-none-any.whl", "toy-1.0-01-py3-none-any.whl", "toy-1.0-1+x-py3-none-any.whl"])
    parts = name[:-4].split("-")
    text = WHEEL
    if len(parts) >= 5 and rng.random() < 0.7:
        tags = [f"{a}-{b}-{c}" for a in parts[-3].split(".") for b in parts[-2].split(".") for c in parts[-1].split(".")]
        text = WHEEL.replace("Tag: py3-none-any\n", "".join(f"Tag: {tag}\n" for tag in tags))
        if len(parts) == 6:
            text += f"Build: {parts[2]}\n"
    return name, wheel(WHEEL=text), name
