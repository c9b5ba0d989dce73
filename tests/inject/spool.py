"""A reader of spools for tests, written from src/spool_writer/spool_format.h alone."""

import struct

HEADER_BYTES, RECORD_BYTES, CHUNK_RECORDS = 4096, 64, 1024
KINDS = ["empty", "chunk", "string", "attribute", "step", "range", "collective", "wait", "host_sync", "host_call",
         "kernel", "copy", "memset", "sched_wait", "irq", "softirq", "loss", "mark", "window"]  # fmt: skip
SOURCES = ["unknown", "torch_hook", "nvtx", "nccl_nvtx", "profiler", "cupti", "host", "doctor", "ddp_logger",
           "nccl_wrapper", "nccl_plugin"]  # fmt: skip
EXTRAPOLATED = 2
PROCESS = 2**64 - 1


class Event:
    def __init__(self, index, record, text):
        kind, self.phase, source, self.flags, self.lane, self.step, name = struct.unpack_from("<BBBBIII", record)
        self.start, self.end, self.correlation, self.bytes = struct.unpack_from("<qqQQ", record, 16)
        group, self.sequence = struct.unpack_from("<II", record, 48)
        self.index, self.kind, self.source = index, KINDS[kind], SOURCES[source]
        self.name, self.group = text.get(name, ""), text.get(group, "")
        self.attributes = {}

    def __repr__(self):
        return f"<{self.kind} {self.name!r} {self.attributes}>"


class Spool:
    def __init__(self, path):
        self.path = path
        data = path.read_bytes()
        assert data[:8] == b"GSDSPOOL", path
        self.pid, self.parent_pid = struct.unpack_from("<II", data, 32)
        counters = struct.unpack_from("<IIQQQQQqQQ", data, 56 + 64 + 256)
        names = ("chunks_used", "next_string", "dropped_full", "dropped_no_space", "self_ns", "nvtx_inits",
                 "exited_cleanly", "exit_ns", "dropped_nested", "strings_refused")  # fmt: skip
        self.header = dict(zip(names, counters))
        self.events, self.facts, self.text = [], {}, {}
        records = list(self._records(data))
        for _, record in records:
            if record[0] == KINDS.index("string"):
                number, length = struct.unpack_from("<II", record, 4)
                self.text[number] = record[64 : 64 + length].decode()
        by_index = {}
        for index, record in records:
            kind = KINDS[record[0]]
            if kind == "attribute":
                is_string = record[1] == 1
                key, target, value = struct.unpack_from("<IQq", record, 4)
                value = self.text[value] if is_string else value
                where = self.facts if target == PROCESS else by_index[target].attributes
                where[self.text[key]] = value
            elif kind not in ("chunk", "string"):
                by_index[index] = Event(index, record, self.text)
                self.events.append(by_index[index])

    @staticmethod
    def _records(data):
        """Yields (index, bytes), attributes last: they may precede their event. A string has its characters with it."""
        late = []
        for first in range(0, (len(data) - HEADER_BYTES) // RECORD_BYTES, CHUNK_RECORDS):
            at = lambda i: HEADER_BYTES + (first + i) * RECORD_BYTES  # noqa: E731
            if data[at(0)] != KINDS.index("chunk"):
                continue
            used = struct.unpack_from("<I", data, at(0) + 12)[0]
            slot = 1
            while slot < used:
                length = 0
                if data[at(slot)] == KINDS.index("string"):
                    length = struct.unpack_from("<I", data, at(slot) + 8)[0]
                more = (length + RECORD_BYTES - 1) // RECORD_BYTES
                record = data[at(slot) : at(slot + 1 + more)]
                if data[at(slot)] == KINDS.index("attribute"):
                    late.append((first + slot, record))
                else:
                    yield first + slot, record
                slot += 1 + more
        yield from late

    def named(self, name):
        found = [event for event in self.events if event.name == name]
        assert len(found) == 1, f"{len(found)} events are named {name!r}: {self.events}"
        return found[0]


def spools_of(recording):
    return sorted((Spool(path) for path in (recording / "events").glob("*.spool")), key=lambda spool: spool.pid)
