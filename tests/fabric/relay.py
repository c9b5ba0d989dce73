#!/usr/bin/env python3
"""A relay between two ranks that share no network: it holds back messages of chosen sizes, and passes on the rest.

usage: relay.py --store-port PORT [--delay-ms MS --from BYTES --to BYTES] NAMESPACE_0 NAMESPACE_1

    namespace 0                                           namespace 1
    gsd0  10.213.79.1  rank 0                 rank 1  10.213.79.2  gsd0
    lo    10.213.79.2  relay's doors ══ relay ══ relay's doors  10.213.79.1  lo

In each namespace the relay listens at the other rank's address, at the ports where that rank listens: a rank believes
that it has reached the other one. Before it passes on what the ranks say to their store, it opens a door for every port
that a rank has opened meanwhile, so that an address never arrives before its door. Gloo's messages start with 48 bytes:
how long they are with these, what kind, slot, offset, length, offset there, eight bytes each. Make the namespaces with make_namespaces(); needs root.
"""
import argparse
import ctypes
import os
import selectors
import shutil
import socket
import struct
import subprocess
import sys
import time

ADDRESSES = ("10.213.79.1", "10.213.79.2")
INTERFACE = "gsd0"
CLONE_NEWNET = 0x40000000
HEADER = struct.Struct("<QQQQQQ")
LIBC = ctypes.CDLL(None, use_errno=True)


def make_namespaces(names):
    """Returns what cannot be done here, or None."""
    commands = [["ip", "netns", "add", name] for name in names]
    # An address needs an interface. This one carries nothing: neither end has a route to the other.
    commands.append(["ip", "link", "add", INTERFACE, "netns", names[0], "type", "veth", "peer", "name", INTERFACE,
                     "netns", names[1]])
    for name, own, other in zip(names, ADDRESSES, reversed(ADDRESSES)):
        commands += (["ip", "-n", name, "link", "set", "lo", "up"], ["ip", "-n", name, "link", "set", INTERFACE, "up"],
                     ["ip", "-n", name, "address", "add", own + "/32", "dev", INTERFACE],
                     ["ip", "-n", name, "address", "add", other + "/32", "dev", "lo"])
    for command in commands:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            return " ".join(command) + ": " + done.stderr.strip()
    return None


def delete_namespaces(names):
    for name in names:
        subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)


class Namespace:
    def __init__(self, name):
        self.file = os.open("/var/run/netns/" + name, os.O_RDONLY)

    def enter(self):
        if LIBC.setns(self.file, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")

    def listen(self, address, port):
        self.enter()
        door = socket.socket()
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((address, port))
        door.listen()
        door.setblocking(False)
        return door

    def connect(self, address, port):
        end = time.monotonic() + 10
        while True:
            self.enter()
            try:
                return socket.create_connection((address, port), timeout=5)
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def ports_at(self, address):
        """Where somebody listens at this address; the kernel's table has it as eight hexadecimal digits."""
        self.enter()
        wanted = "%08X" % struct.unpack("<I", socket.inet_aton(address))
        with open("/proc/self/net/tcp", encoding="ascii") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[1].split(":")[0] == wanted}


class Way:
    """Bytes in one direction of one connection. What it holds back holds back all behind it, as a link would."""

    def __init__(self, source, target, framed, options):
        self.source, self.target, self.framed, self.options = source, target, framed, options
        self.waiting = bytearray()
        self.allowed = 0  # of the message that is passing
        self.not_before = 0.0
        self.ended = False

    def take(self):
        try:
            block = self.source.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            block = b""
        self.ended = self.ended or not block
        self.waiting += block

    def pass_on(self):
        """Returns when there is more to do, or None."""
        while self.waiting:
            if self.framed and self.allowed == 0:
                if len(self.waiting) < HEADER.size:
                    return None
                self.allowed = HEADER.unpack_from(self.waiting)[0]
                if self.options.smallest <= self.allowed - HEADER.size <= self.options.largest:
                    self.not_before = time.monotonic() + self.options.delay_ms / 1000
            if time.monotonic() < self.not_before:
                return self.not_before
            part = self.waiting[:self.allowed] if self.framed else self.waiting
            try:
                sent = self.target.send(part)
            except BlockingIOError:
                return time.monotonic() + 0.0005
            except OSError:
                self.ended, self.waiting = True, bytearray()
                return None
            del self.waiting[:sent]
            self.allowed -= sent if self.framed else 0
        if self.ended:
            try:
                self.target.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        return None


class Relay:
    def __init__(self, options):
        self.options = options
        self.namespaces = [Namespace(name) for name in options.namespaces]
        self.selector = selectors.DefaultSelector()
        self.doors, self.ways = {}, []
        self.open_door(0, options.store_port)

    def open_door(self, rank, port):
        """For connections to that rank: at its address, in the other rank's namespace."""
        if (rank, port) in self.doors:
            return
        door = self.namespaces[1 - rank].listen(ADDRESSES[rank], port)
        self.doors[rank, port] = door
        self.selector.register(door, selectors.EVENT_READ, ("door", rank, port))

    def open_doors(self):
        for rank, namespace in enumerate(self.namespaces):
            for port in namespace.ports_at(ADDRESSES[rank]):
                self.open_door(rank, port)

    def admit(self, door, rank, port):
        caller, _ = door.accept()
        callee = self.namespaces[rank].connect(ADDRESSES[rank], port)
        framed = port != self.options.store_port
        for source, target in ((caller, callee), (callee, caller)):
            source.setblocking(False)
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            way = Way(source, target, framed, self.options)
            self.ways.append(way)
            self.selector.register(source, selectors.EVENT_READ, ("way", way))

    def serve(self):
        wake = None
        while True:
            limit = None if wake is None else max(0, wake - time.monotonic())
            for key, _ in self.selector.select(limit):
                if key.data[0] == "door":
                    self.admit(key.fileobj, *key.data[1:])
                    continue
                way = key.data[1]
                way.take()
                if not way.framed:
                    self.open_doors()
                if way.ended:
                    self.selector.unregister(way.source)
            times = [way.pass_on() for way in self.ways]
            wake = min((when for when in times if when is not None), default=None)


def namespaces_or_skip(test, names):
    """For setUp: makes the namespaces and deletes them when the test ends, or skips it with the reason."""
    if os.geteuid() != 0:
        test.skipTest("needs root, for network namespaces")
    if shutil.which("ip") is None:
        test.skipTest("needs the program ip")
    test.addCleanup(delete_namespaces, names)
    reason = make_namespaces(names)
    if reason:
        test.skipTest("namespaces cannot be made here: " + reason)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--store-port", type=int, required=True)
    parser.add_argument("--delay-ms", type=float, default=0)
    parser.add_argument("--from", dest="smallest", type=int, default=0, help="payload of one message, without its header")
    parser.add_argument("--to", dest="largest", type=int, default=-1)
    parser.add_argument("namespaces", nargs=2)
    relay = Relay(parser.parse_args())
    print("ready", flush=True)
    relay.serve()


if __name__ == "__main__":
    sys.exit(main())
