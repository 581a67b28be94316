#!/usr/bin/env python3
"""Reads generated HTML pages of a simple index by pip's own parser and by ptpkg's.

usage: simple_page_vs_pip.py SIMPLE_PAGE_ANSWERS [--count N] [--seed N]

ptpkg never sees a link that pip does not see: that would be a success without an upload. Pages made of what all versions of
html.parser read alike must give the same links. Exit status: 0 agree, 1 disagree, 77 pip is not installed.
"""

import argparse
import json
import random
import subprocess
import sys

SKIP = 77
NAME = "toy-1.0-py3-none-any.whl"
# Read alike by all versions of html.parser.
PLAIN = ("<p>", "</p>", "text", " ", "\n", "<br/>", "<!-- c -->", "<!DOCTYPE html>", "&amp;", "&lt;a&gt;", "<b title='>'>",
         "<meta name=x content='y'>", "<script>var a = '<a>';</script>", "<style>p > a {}</style>", "<?pi x?>", "</>", "<a>",
         "<a name=x>", "<!-- <a href='{href}'> -->", "<script><a href='{href}'></script>", "<p title=\"<a href='{href}'>\">")
ODD = ("<!--", "-->", "--!>", "-- >", "<!-->", "<!--->", "<textarea>", "</textarea>", "<title>", "</title>", "<script>",
       "</script>", "</script >", "</ script>", "</script x>", "<style>", "</style>", "<![CDATA[", "]]>", "<!x>", "<?", ">", "<",
       "\"", "'", "</p x='>'>", "</p x=\">", "<xmp>", "</xmp>", "<plaintext>", "<iframe>", "</iframe>", "<p title=\"", "<p title='",
       "<script/>", "<textarea/>", "<noframes>", "</noframes>", "<SCRIPT>", "</SCRIPT>", "<a href=", "=", "/", "&", "&#", "\v")
HREFS = ("f/{name}#sha256={digest}", "/x/y/{name}#sha256={digest}", "https://h/{name}#sha256={digest}", "{name}#md5=0&sha256={digest}",
         "{name}#a=1&sha256={digest}", "{name}", "x%2F{name}#sha256={digest}", "{name}?sha256={digest}", "{name}/#sha256={digest}",
         "other-1.0-py3-none-any.whl#sha256={digest}", "#sha256={digest}", "", "{quoted}#sha256={digest}", "{name}?a=1&amp;b=2#sha256={digest}")
TAGS = ("<a href='{href}'>", "<a href=\"{href}\">", "<a href={href}>", "<A HREF = '{href}' >", "<a\nhref='{href}'/>", "<a class=x href='{href}'>",
        "<a href='x' href='{href}'>", "<a href='{href}' href='x'>", "<a data-yanked href='{href}' data-requires-python='&gt;=3'>",
        "<a href='{href}'title=x>", "<a href='{href}' title='>'>", "<link href='{href}'>", "<base href='{href}'>", "<a title=href='{href}'>",
        "<a/href='{href}'>", "<a href=='{href}'>", "<a href='{href}\" >", "<a =x href='{href}'>")
ODD_TAGS = 4  # of TAGS, at the end: read otherwise by some version


class Pages:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def href(self):
        digest = "".join(self.random.choices("0123456789abcdef", k=64))
        quoted = "".join(self.random.choice((c, c, c, f"%{ord(c):02x}", f"&#{ord(c)};", f"&#x{ord(c):X};")) for c in NAME)
        return self.random.choice(HREFS).format(name=NAME, digest=digest, quoted=quoted)

    def page(self, odd):
        parts = []
        tags = TAGS if odd else TAGS[:-ODD_TAGS]
        for _ in range(self.random.randint(1, 12)):
            kind = self.random.random()
            source = tags if kind < 0.4 else ODD if odd and kind < 0.8 else PLAIN
            parts.append(self.random.choice(source).replace("{href}", self.href()))
        return "".join(parts)


def seen_by_pip(page):
    from pip._internal.index.collector import IndexContent, parse_links
    content = IndexContent(page.encode(), "text/html", "utf-8", "https://h/simple/toy/", cache_link_parsing=False)
    try:
        links = list(parse_links(content))
    except AssertionError:  # of an unknown marked section: pip sees nothing of the page
        return None
    found = []
    for link in links:
        if link.filename == NAME:
            digest = link.hash if link.hash_name == "sha256" else None
            found.append(digest if digest and len(digest) == 64 else "-")
    return found


def is_part(few, all_of_them):
    rest = iter(all_of_them)
    return all(any(one == other for other in rest) for one in few)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("answers")
    arguments.add_argument("--count", type=int, default=4000)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    try:
        import pip  # noqa: F401
    except ImportError:
        print("pip is not installed")
        return SKIP
    pages = Pages(options.seed)
    asked = [(number % 2 == 1, pages.page(number % 2 == 1)) for number in range(options.count)]
    done = subprocess.run([options.answers], input="".join(json.dumps(page) + "\n" for _, page in asked), text=True,
                          stdout=subprocess.PIPE, check=True)
    wrong = links = 0
    for (odd, page), line in zip(asked, done.stdout.splitlines(), strict=True):
        ours, pips = json.loads(line), seen_by_pip(page)
        links += len(pips or [])
        agree = ours == "error" or (is_part(ours, pips or []) if odd else ours == pips)
        if agree and (ours != "error" or odd):
            continue
        wrong += 1
        if wrong <= 10:
            print(f"page {page!r}\n  pip: {pips}\n  ptpkg: {ours}")
    print(f"{len(asked)} pages with {links} links: {wrong} disagreements")
    return 1 if wrong or links < len(asked) // 10 else 0


if __name__ == "__main__":
    sys.exit(main())
