#!/usr/bin/env python3
"""Pages of the report: well-formed, no identifier twice, links that lead somewhere, nothing from elsewhere, headings and
tables that can be read aloud, the policy's hashes those of the style and script, contrast. Usage: check_html.py PAGE..."""
import base64
import hashlib
import html.parser
import re
import sys
import xml.etree.ElementTree

VOID = {"meta", "br", "hr", "img", "input", "link"}
TAGS = set("""html head meta title style body header nav main section article h1 h2 h3 p a ul li dl dt dd div span table
caption thead tbody tr th td details summary figure figcaption svg desc path rect circle text br script""".split())
LOADS = {"src", "srcset", "data", "action", "formaction", "poster", "background", "xlink:href"}


class Page(html.parser.HTMLParser):
    """What a browser's parser would see, and what is wrong with it."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.wrong, self.open, self.ids, self.links, self.headings = [], [], [], [], []
        self.references, self.policy, self.constants, self.tags = [], "", {}, []
        self.feed(text)
        self.close()
        if self.open:
            self.wrong.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.seen(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen(tag, attributes)
        if tag not in VOID and "svg" not in self.open:
            self.wrong.append(f"<{tag}/> is no void element")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()} closes something else")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("style", "script"):
            self.constants[self.open[-1]] = self.constants.get(self.open[-1], "") + data

    def seen(self, tag, attributes):
        named = dict(attributes)
        if len(named) != len(attributes):
            self.wrong.append(f"<{tag}> has an attribute twice")
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name.startswith("on") or name == "style" or name in LOADS:
                self.wrong.append(f"<{tag} {name}={value!r}>")
            if name in ("aria-labelledby", "aria-describedby"):
                self.references += value.split()
        if tag == "a":
            self.links.append(named.get("href", ""))
        self.tags.append(tag)
        if tag not in TAGS:
            self.wrong.append(f"<{tag}>")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"]
        if tag == "th" and named.get("scope") not in ("row", "col"):
            self.wrong.append("<th> without a scope")


def check_headings(levels):
    if levels.count(1) != 1:
        yield f"{levels.count(1)} headings of the first level"
    for before, after in zip(levels, levels[1:]):
        if after > before + 1:
            yield f"a heading of level {after} below one of level {before}"


def check_policy(page):
    for part in ("style", "script"):
        if page.tags.count(part) != 1:
            yield f"{page.tags.count(part)} elements {part}"
        digest = base64.b64encode(hashlib.sha256(page.constants.get(part, "").encode()).digest()).decode()
        if f"{part}-src 'sha256-{digest}'" not in page.policy:
            yield f"the policy does not let the {part} run: its hash is {digest}"
    if not page.policy.startswith("default-src 'none';") or "unsafe" in page.policy:
        yield f"the policy lets more than the page's own run: {page.policy}"


def luminance(color):
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = [int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def check_contrast(style):
    """Text 4.5 and shapes 3 on each ground (WCAG 2.1, 1.4.3 and 1.4.11)."""
    schemes = [dict(re.findall(r"--(\w+):(#\w+)", block)) for block in re.findall(r":root\{(.*?)\}", style, re.S)]
    if len(schemes) != 3:
        yield f"{len(schemes)} colour schemes, not light, dark and paper"
    for scheme in schemes:
        for ground in ("ground", "soft"):
            for name in ("text", "faint", "good", "warning", "bad", "link"):
                if contrast(scheme[name], scheme[ground]) < 4.5:
                    yield f"--{name} {scheme[name]} on {scheme[ground]}: {contrast(scheme[name], scheme[ground]):.2f}"
        for name in ("plot", "other"):
            if contrast(scheme[name], scheme["ground"]) < 3:
                yield f"--{name} {scheme[name]}: {contrast(scheme[name], scheme['ground']):.2f}"
        for name, color in re.findall(r"\.(k-\w+)\{fill:(#\w+)\}", style):
            if contrast(color, scheme["ground"]) < 3 and scheme["ground"] != "#fff":
                yield f".{name} {color} on {scheme['ground']}: {contrast(color, scheme['ground']):.2f}"
            if contrast(color, "#fff") < 3.5:
                yield f"white words on .{name} {color}: {contrast(color, '#fff'):.2f}"


def check(text):
    page = Page(text)
    yield from page.wrong
    yield from (f"the identifier {one} comes twice" for one in sorted(set(page.ids)) if page.ids.count(one) > 1)
    yield from (f"the link {link} leads nowhere" for link in page.links if link[:1] != "#" or link[1:] not in page.ids)
    yield from (f"nothing is called {name}" for name in page.references if name not in page.ids)
    yield from check_headings(page.headings)
    yield from check_policy(page)
    yield from check_contrast(page.constants.get("style", ""))
    for address in re.findall(r"(?:https?:)?//[\w.]+|url\(|@import", page.constants.get("style", "") + page.constants.get("script", "")):
        yield f"the page asks for {address}"
    try:
        root = xml.etree.ElementTree.fromstring(text.split("\n", 1)[1])
    except xml.etree.ElementTree.ParseError as error:
        yield f"not well-formed: {error}"
        return
    for svg in root.iter("svg"):
        if svg.get("aria-hidden") != "true" and [child.tag for child in svg][:2] != ["title", "desc"]:
            yield "a picture without title and description"
    for table in root.iter("table"):
        columns = len(table.findall("./thead/tr/th"))
        if table.find("caption") is None or any(len(row) != columns for row in table.iterfind("./tbody/tr")):
            yield "a table without a caption, or with rows of another width"


def main(paths):
    wrong = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for problem in check(file.read()):
                print(f"{path}: {problem}")
                wrong += 1
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
