#!/usr/bin/env python3
"""Writes /proc and /sys of a machine that tests need, below a folder: what readers of interrupts look at, and no more.

usage: make_root.py MACHINE DIR [SECONDS]     SECONDS: how long after the first look the counters are read

  big        2 sockets × 24 cores × 2 threads, an mlx5 card on node 0 whose 16 queues all sit on CPU 0, NVMe whose
             queues the kernel manages, a training process with a pinned communication thread on CPU 2 and a
             child that may run on half of the CPUs, and another process
  arm64      64 CPUs without SMT, a network card behind an ITS, per-CPU timers with numbers
  holes      8 CPUs of which 0, 2, 3, 6 and 7 are online; a device that knows no node
  gpus       2 sockets, on each a GPU and a network card with an RDMA port; one card's queues on the wrong node, one GPU's
             link with half of its lanes; a governor that saves power, CRI-O and tuned; a training thread on each node
  container  /proc/interrupts, and nothing of /proc/irq and little of /sys
"""

import sys
from pathlib import Path

BOOT = "5a1c1f0e-0000-4000-8000-000000000001"


class Root:
    def __init__(self, folder, seconds):
        self.folder, self.seconds = Path(folder), seconds
        self.lines = []  # (id, {cpu: count}, chip, handlers)

    def write(self, path, text, mode=0o644):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            file.unlink()
        file.write_text(f"{text}\n")
        file.chmod(mode)

    def link(self, path, target):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_symlink():
            file.symlink_to(target)

    def cpus(self, online, present, siblings=lambda cpu: str(cpu), nodes=None, isolated=""):
        self.online = online
        base = "sys/devices/system/cpu/"
        self.write(base + "online", ranges(online))
        self.write(base + "present", present)
        self.write(base + "isolated", isolated)
        for cpu in online:
            self.write(f"{base}cpu{cpu}/topology/thread_siblings_list", siblings(cpu))
        for node, cpulist in (nodes or {}).items():
            self.write(f"sys/devices/system/node/node{node}/cpulist", cpulist)

    def device(self, path, irqs, device_class, local, node):
        for irq in irqs:
            self.write(f"sys/devices/{path}/msi_irqs/{irq}", "msix")
        self.write(f"sys/devices/{path}/class", device_class)
        self.write(f"sys/devices/{path}/local_cpulist", local)
        self.write(f"sys/devices/{path}/numa_node", node)
        self.link(f"sys/bus/pci/devices/{path.split('/')[-1]}", f"../../../devices/{path}")

    def irq(self, number, handlers, cpu, rate, allowed, chip="IR-PCI-MSIX", hwirq=0, mode=0o644, node=0, files=True):
        self.lines.append((str(number), {cpu: 1000 + int(rate * self.seconds)}, f"{chip} {hwirq}-edge", handlers))
        if not files:
            return
        self.write(f"sys/kernel/irq/{number}/hwirq", hwirq)
        self.write(f"sys/kernel/irq/{number}/chip_name", chip)
        base = f"proc/irq/{number}/"
        self.write(base + "smp_affinity_list", allowed, mode)
        self.write(base + "effective_affinity_list", cpu, 0o444)
        self.write(base + "affinity_hint", "0")
        self.write(base + "node", node)

    def thread(self, pid, tid, name, allowed, parent=1):
        self.write(f"proc/{pid}/comm", "python3")
        self.write(f"proc/{pid}/stat", f"{pid} (python3 (x) S) S {parent} 1 1")
        self.write(f"proc/{pid}/task/{tid}/comm", name)
        self.write(f"proc/{pid}/task/{tid}/status", f"Name:\t{name}\nCpus_allowed:\tff\nCpus_allowed_list:\t{allowed}")

    def finish(self, default="ffffffff,ffffffff,ffffffff"):
        self.write("proc/sys/kernel/random/boot_id", BOOT)
        self.write("proc/sys/kernel/hostname", "planned")
        if default:
            self.write("proc/irq/default_smp_affinity", default)
        rows = [(name, counts, kind + "      " + handlers) for name, counts, kind, handlers in self.lines]
        rows.append(("LOC", {cpu: 1000 + int(250 * self.seconds) for cpu in self.online}, "Local timer interrupts"))
        self.table("proc/interrupts", rows)
        self.table("proc/softirqs", [("NET_RX", {self.online[0]: 500 + int(9000 * self.seconds)}, "")])
        self.write("proc/stat", "cpu  0 0 0 0 0 0 0\n" + "\n".join(
            f"cpu{cpu} 10 0 10 {1000 + int(100 * self.seconds)} 0 0 {int((40 if cpu == self.online[0] else 0) * self.seconds)} 0 0 0"
            for cpu in self.online))

    def table(self, path, rows):
        text = " " * 12 + "".join(f"CPU{cpu:<8}" for cpu in self.online) + "\n"
        for name, counts, rest in rows:
            text += f"{name:>5}:" + "".join(f" {counts.get(cpu, 0):>10}" for cpu in self.online) + f"  {rest}\n"
        self.write(path, text.rstrip("\n"))


def ranges(cpus):
    return ",".join(str(cpu) for cpu in cpus)


def big(root):
    node0, node1 = "0-23,48-71", "24-47,72-95"
    root.cpus(list(range(96)), "0-95", lambda cpu: f"{cpu % 48},{cpu % 48 + 48}", {0: node0, 1: node1})
    card = "pci0000:16/0000:16:02.0/0000:1b:00.0"
    root.device(card, range(100, 117), "0x020700", node0, 0)
    root.link("sys/class/net/ens1f0/device", "../../../devices/" + card)
    root.link("sys/class/infiniband/mlx5_0/device", "../../../devices/" + card)
    root.irq(100, "mlx5_async0@pci:0000:1b:00.0", 0, 1, "0-95")
    for queue in range(16):
        root.irq(101 + queue, f"mlx5_comp{queue}@pci:0000:1b:00.0", 0, 2000 + 100 * queue, "0-95", hwirq=1 + queue)
    root.device("pci0000:30/0000:31:00.0", range(200, 209), "0x010802", node1, 1)
    root.irq(200, "nvme0q0", 24, 1, "24-47,72-95", node=1)
    for queue in range(1, 9):
        root.irq(200 + queue, f"nvme0q{queue}", 23 + queue, 500, str(23 + queue), hwirq=queue, mode=0o444, node=1)
    root.thread(4000, 4000, "python3", "0-95")
    root.thread(4000, 4001, "gloo-comm", "2")
    root.thread(4100, 4100, "loader", "0-47", parent=4000)
    root.thread(4200, 4200, "stranger", "3")
    root.finish()


def arm64(root):
    root.cpus(list(range(64)), "0-63", nodes={0: "0-63"})
    root.irq(11, "arch_timer", 0, 900, "0-63", chip="GICv3", hwirq=30)
    root.device("pci0000:00/0000:01:00.0", range(50, 59), "0x020000", "0-63", 0)
    root.link("sys/class/net/eth0/device", "../../../devices/pci0000:00/0000:01:00.0")
    for queue in range(8):
        root.irq(50 + queue, f"eth0-TxRx-{queue}", 4 * queue, 3000, str(4 * queue), chip="ITS-MSI", hwirq=524288 + queue)
    root.irq(58, "eth0-mgmt", 1, 0, "0-63", chip="ITS-MSI", hwirq=524296)
    root.finish("ffffffff,ffffffff")


def holes(root):
    root.cpus([0, 2, 3, 6, 7], "0-7", lambda cpu: f"{cpu - cpu % 2}-{cpu - cpu % 2 + 1}", {0: "0-7"})
    root.device("pci0000:00/0000:00:03.0", [38, 39], "0x020000", "0-7", -1)
    root.link("sys/devices/pci0000:00/0000:00:03.0/virtio2/driver", "nowhere")
    root.link("sys/class/net/eth0/device", "../../../devices/pci0000:00/0000:00:03.0/virtio2")
    root.irq(38, "virtio2-input.0", 0, 1500, "0-7", node=-1)
    root.irq(39, "virtio2-output.0", 0, 1500, "0-7", hwirq=1, node=-1)
    root.irq(41, "eth1-TxRx-0", 0, 9000, "0-7", hwirq=2, node=-1)
    root.irq(42, "eth1-TxRx-1", 0, 9000, "0-7", hwirq=3, node=-1)
    root.finish("ff")


def link(root, path, lanes, speed="32.0 GT/s PCIe", most=16):
    for name, value in (("current_link_width", lanes), ("max_link_width", most), ("current_link_speed", speed),
                        ("max_link_speed", "32.0 GT/s PCIe")):
        root.write(f"sys/devices/{path}/{name}", value)


def gpus(root):
    nodes = {0: "0-7", 1: "8-15"}
    root.cpus(list(range(16)), "0-15", nodes=nodes)
    for node, (gpu, card, lanes) in enumerate((("0000:1a:00.0", "0000:1b:00.0", 16), ("0000:9a:00.0", "0000:9b:00.0", 8))):
        bridge = f"pci0000:{'16' if node == 0 else '97'}"
        root.device(f"{bridge}/{gpu}", [], "0x030200", nodes[node], node)
        root.write(f"sys/devices/{bridge}/{gpu}/vendor", "0x10de")
        link(root, f"{bridge}/{gpu}", lanes)
        root.device(f"{bridge}/{card}", range(100 + 10 * node, 105 + 10 * node), "0x020700", nodes[node], node)
        link(root, f"{bridge}/{card}", 16)
        for kind, name in (("net", f"ib{node}"), ("infiniband", f"mlx5_{node}")):
            root.link(f"sys/class/{kind}/{name}/device", f"../../../devices/{bridge}/{card}")
        root.write(f"sys/class/net/ib{node}/operstate", "up")
        root.write(f"sys/class/net/ib{node}/speed", "400000")
        port = f"sys/class/infiniband/mlx5_{node}/ports/1/"
        for name, value in (("rate", "400 Gb/sec (4X NDR)"), ("link_layer", "InfiniBand"), ("state", "4: ACTIVE")):
            root.write(port + name, value)
        for queue in range(4):  # those of the second card are all on the first node
            root.irq(101 + 10 * node + queue, f"mlx5_comp{queue}@pci:{card}", queue, 900, "0-15", hwirq=queue, node=node)
    for cpu in range(16):
        root.write(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", "powersave")
    root.write("proc/900/comm", "tuned")
    root.write("proc/901/comm", "crio")
    root.thread(4000, 4000, "python3", "0-7")
    root.thread(4001, 4001, "python3", "8-15", parent=4000)
    root.finish("ffff")


def container(root):
    root.online = [0, 1]
    root.irq(38, "virtio2-input.0", 1, 1500, "", files=False)
    root.finish(default="")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    machine, folder, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3]) if len(sys.argv) == 4 else 0.0
    machines = {"big": big, "arm64": arm64, "holes": holes, "gpus": gpus, "container": container}
    if machine not in machines:
        sys.exit(f"there is no machine {machine}: {', '.join(machines)}")
    machines[machine](Root(folder, seconds))


if __name__ == "__main__":
    main()
