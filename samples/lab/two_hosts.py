#!/usr/bin/env python3
"""Runs ranks of a sample in each of two network namespaces, over a link of a given rate: a slow network on one machine.

    sudo gradsync-doctor run --ab -- python3 samples/lab/two_hosts.py --rate 1gbit samples/ddp_topk_hook.py --steps 1000
    sudo python3 samples/lab/two_hosts.py --rate 1gbit gradsync-doctor sweep --min 1M

The second measures that link, so that whatif can tell of a job over it what it would be without compression.

Makes the namespaces and removes them again, also when it is interrupted. Exit status 77, with the reason, where they
cannot be made: they need root, ip and tc (iproute2), and the queueing discipline tbf; host names of their own need unshare.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys

NEAR, FAR = "gsdlab%da" % os.getpid(), "gsdlab%db" % os.getpid()
SUBNET = "10.213.79."
CANNOT = 77


class Impossible(Exception):
    pass


def do(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Impossible("%s: %s" % (" ".join(command), done.stdout.strip()))


def make_link(rate):
    for name in (NEAR, FAR):
        do("ip", "netns", "add", name)
    do("ip", "-n", NEAR, "link", "add", "gsdl0", "type", "veth", "peer", "name", "gsdl1", "netns", FAR)
    for number, name in enumerate((NEAR, FAR)):
        device = "gsdl%d" % number
        do("ip", "-n", name, "address", "add", SUBNET + "%d/24" % (number + 1), "dev", device)
        do("ip", "-n", name, "link", "set", "lo", "up")
        do("ip", "-n", name, "link", "set", device, "up")
        # bursts hide the rate from messages that are smaller; a queue that is too short loses packets
        do("tc", "-n", name, "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")


def remove_link():
    for name in (NEAR, FAR):   # and with it its end of the link
        subprocess.run(["ip", "netns", "delete", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def inside(number, name, own_name):
    """The words that run what follows them inside a namespace, with a host name of its own if asked for."""
    words = ["ip", "netns", "exec", name]
    if own_name:
        words += ["unshare", "--uts", "sh", "-c", 'hostname "$1" && shift && exec "$@"', "sh", "gsdhost%d" % number]
    return words


def run(command, per_host, own_names):
    """The worst exit status of the ranks, which are numbered host by host, as torchrun does."""
    ranks = []
    if command and command[0].endswith(".py"):
        command = [sys.executable, *command]
    common = dict(os.environ, WORLD_SIZE=str(2 * per_host), LOCAL_WORLD_SIZE=str(per_host), MASTER_ADDR=SUBNET + "1",
                  MASTER_PORT="29519", OMP_NUM_THREADS="1")
    try:
        for number, name in enumerate((NEAR, FAR)):
            for local in range(per_host):
                environment = dict(common, RANK=str(number * per_host + local), LOCAL_RANK=str(local),
                                   GLOO_SOCKET_IFNAME="gsdl%d" % number)
                ranks.append(subprocess.Popen([*inside(number, name, own_names), *command], env=environment))
        return max(128 - status if status < 0 else status for status in [rank.wait() for rank in ranks])
    finally:
        for rank in ranks:
            rank.terminate()   # does nothing to a rank that has ended
            rank.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", default="1gbit", help="of the link, each way, as tc writes it (default %(default)s)")
    parser.add_argument("--ranks-per-host", type=int, default=1, help="in each namespace (default %(default)s)")
    parser.add_argument("--host-names", action="store_true", help="give each namespace a host name of its own")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a sample, or another program, and its options")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        if os.geteuid() != 0:
            raise Impossible("network namespaces need root")
        for program in ("ip", "tc"):
            if shutil.which(program) is None:
                raise Impossible("needs the program %s (iproute2)" % program)
        if options.host_names and shutil.which("unshare") is None:
            raise Impossible("host names of their own need the program unshare (util-linux)")
        make_link(options.rate)
        return run(options.command, options.ranks_per_host, options.host_names)
    except Impossible as why:
        print("no slow link here: %s" % why, file=sys.stderr)
        return CANNOT
    finally:
        remove_link()


sys.exit(main())
