"""One small file per interpreter, so that the doctor knows which processes could have been observed."""
import os
import sys
import time

LONGEST_ARGUMENT = 4096
MOST_ARGUMENTS = 256


def write(recording):
    """Creates hello/<host>-<pid>.json; the folder must not be a place where others can plant links."""
    host = os.uname().nodename[:63].replace("/", "_")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    content = text().encode("ascii")
    for attempt in range(10):  # a process that exec()s a second interpreter keeps its pid
        suffix = "" if attempt == 0 else "-%d" % attempt
        path = "%s/hello/%s-%d%s.json" % (recording, host, os.getpid(), suffix)
        try:
            fd = os.open(path, flags, 0o600)
        except FileExistsError:
            continue
        try:
            os.write(fd, content)
        finally:
            os.close(fd)
        return


def text():
    argv = list(getattr(sys, "orig_argv", None) or getattr(sys, "argv", None) or [])[:MOST_ARGUMENTS]
    flags = ", ".join(
        '"%s": %d' % (name, getattr(sys.flags, name))
        for name in dir(sys.flags)
        if not name.startswith("_") and name not in ("count", "index", "n_fields", "n_sequence_fields",
                                                     "n_unnamed_fields") and getattr(sys.flags, name))
    fields = [
        ("pid", str(os.getpid())),
        ("ppid", str(os.getppid())),
        ("executable", _quoted(sys.executable or "")),
        ("argv", "[%s]" % ", ".join(_quoted(argument[:LONGEST_ARGUMENT]) for argument in argv)),
        ("python", _quoted(sys.version.split()[0])),
        ("flags", "{%s}" % flags),
    ]
    for name in ("RANK", "WORLD_SIZE"):
        if name in os.environ:
            fields.append((name, _quoted(os.environ[name])))
    fields.append(("monotonic_ns", str(time.monotonic_ns())))
    return "{%s}\n" % ", ".join('"%s": %s' % field for field in fields)


def _quoted(value):
    """A JSON string of printable ASCII; the json module would cost more than the rest of the start-up."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return '"%s"' % value
    out = []
    for character in value:
        code = ord(character)
        if character in '"\\':
            out.append("\\" + character)
        elif 32 <= code < 127:
            out.append(character)
        elif 0xD800 <= code <= 0xDFFF:  # an undecodable byte of the command line
            out.append("\\ufffd")
        elif code > 0xFFFF:
            code -= 0x10000
            out.append("\\u%04x\\u%04x" % (0xD800 | code >> 10, 0xDC00 | code & 0x3FF))
        else:
            out.append("\\u%04x" % code)
    return '"%s"' % "".join(out)
