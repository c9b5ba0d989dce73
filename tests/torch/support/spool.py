"""A minimal reader of spools, written against spool_format.h only: what a test needs and no more."""
import collections
import glob
import os
import struct

HEADER, CHUNK, RECORD = 4096, 64 * 1024, 64
KINDS = ("empty chunk string attribute step range collective wait host_sync host_call kernel copy memset "
         "sched_wait irq softirq loss mark window").split()
PHASES = "none forward backward optimizer data compress decompress".split()
PROCESS = 2 ** 64 - 1

Event = collections.namedtuple(
    "Event", "reference kind phase source flags lane step name start end correlation bytes group sequence attributes")
# group: label of the communicator; of steps the variant, a number


class Spool:
    """`facts`: dict; `events`: list of Event in order of start."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.raw = file.read()
        assert self.raw[:8] == b"GSDSPOOL", "not a spool: %s" % path
        self.pid, self.parent_pid = struct.unpack_from("<II", self.raw, 32)
        self.exited_cleanly = struct.unpack_from("<Q", self.raw, 40 + 16 + 64 + 256 + 8 + 4 * 8)[0]
        self.self_ns = struct.unpack_from("<Q", self.raw, 40 + 16 + 64 + 256 + 8 + 2 * 8)[0]
        self.strings = {0: ""}
        self.facts = {}
        records, attributes = [], collections.defaultdict(dict)
        pending = []
        for reference, raw in self._records():
            kind = raw[0]
            if kind == 3:
                kind_, type_, key, target, value = struct.unpack_from("<BB2xIQq", raw)
                pending.append((type_, key, target, value))
            elif kind > 3:
                records.append((reference, struct.unpack("<BBBBIIIqqQQIIQ", raw)))
        for type_, key, target, value in pending:
            value = self.strings.get(value, "?") if type_ == 1 else value
            key = self.strings.get(key, "?")
            if target == PROCESS:
                self.facts[key] = value
            else:
                attributes[target][key] = value
        self.events = sorted((self._event(reference, fields, attributes) for reference, fields in records),
                             key=lambda event: event.start)

    def _event(self, reference, f, attributes):
        return Event(reference, KINDS[f[0]], PHASES[f[1]], f[2], f[3], f[4], f[5] if f[5] != 2 ** 32 - 1 else None,
                     self.strings.get(f[6], "?"), f[7], f[8], f[9], f[10],
                     f[11] if f[0] == KINDS.index("step") else self.strings.get(f[11], "?"), f[12],
                     attributes.get(reference, {}))

    def _records(self):
        """Yields (reference, 64 bytes), strings aside, which are taken in."""
        for chunk in range((len(self.raw) - HEADER) // CHUNK):
            start = HEADER + chunk * CHUNK
            slot = 1
            while slot < CHUNK // RECORD:
                raw = self.raw[start + slot * RECORD:start + (slot + 1) * RECORD]
                if raw[0] == 0:
                    break
                if raw[0] == 2:
                    number, length = struct.unpack_from("<II", raw, 4)
                    text = self.raw[start + (slot + 1) * RECORD:][:length]
                    self.strings[number] = text.decode("utf-8")
                    slot += (length + RECORD - 1) // RECORD
                else:
                    yield chunk * (CHUNK // RECORD) + slot, raw
                slot += 1

    def of(self, kind, name=None, **fields):
        """Events of a kind, optionally with this name and these field values."""
        return [event for event in self.events
                if event.kind == kind and (name is None or event.name == name)
                and all(getattr(event, field) == value for field, value in fields.items())]


def spools(recording):
    """All spools of a recording, those of ranks ordered by rank."""
    found = [Spool(path) for path in sorted(glob.glob(os.path.join(recording, "events", "*.spool")))]
    return sorted(found, key=lambda spool: int(spool.facts.get("rank", -1)))
