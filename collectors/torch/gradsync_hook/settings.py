"""How the job was set up, told once as facts: variables of its environment, its device, old extensions.

Only looks: names of files are taken from the job's own modules, what cannot be read is left out.
"""
import os
import pwd
import sys

from . import activation

# analyzers/configuration.cpp expects the same, in lower case.
VARIABLES = ("NCCL_IB_DISABLE", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_GID_INDEX", "NCCL_NET_GDR_LEVEL",
             "NCCL_ALGO", "NCCL_PROTO", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_HCA", "NCCL_IB_TC",
             "CUDA_LAUNCH_BLOCKING", "TORCH_NCCL_BLOCKING_WAIT")
LONGEST_VALUE = 200
LARGEST_FILE = 1 << 20
MOST_SOURCES = 256
SYSTEM_FILE = "/etc/nccl.conf"


def tell_environment():
    files, used = nccl_settings(), []
    for name in VARIABLES:
        value = os.environ.get(name)
        if name not in os.environ and name in files:
            value, file = files[name]
            used.append("%s of %s" % (name, file))
        if value:
            activation.tell("env." + name.lower(), value[:LONGEST_VALUE])
    if used:
        activation.tell("env.files", ", ".join(used)[:LONGEST_VALUE])
    activation.tell("env.seen", "yes")


def nccl_settings():
    """name → (value, file) of the files that NCCL reads, the user's before the system's. What the environment has wins."""
    user = os.environ.get("NCCL_CONF_FILE")
    if not user:
        try:
            user = os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".nccl.conf")
        except KeyError:
            pass
    found = {}
    for path in (user, SYSTEM_FILE):
        if path is None or not os.path.isfile(path):  # a pipe would hold the job up
            continue
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read(LARGEST_FILE).split("\n")
        except OSError:
            continue
        for line in lines:
            name, equals, value = line.partition("=")
            if equals and name.startswith("NCCL_"):  # exactly as it stands: NCCL trims nothing
                found.setdefault(name, (value, path))
    return found


def tell_device(device):
    """The device as the driver numbers it, as far as the job's own list of visible ones tells."""
    if device.type != "cuda" or device.index is None:
        return
    visible = [one.strip() for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one.strip()]
    if not visible:
        activation.tell("device.visible", device.index)
    elif device.index < len(visible):
        activation.tell("device.visible", visible[device.index])


def tell_extensions():
    """Whether a compiled extension is older than a source that its own build file names."""
    folders = [folder for folder in (os.environ.get("TORCH_EXTENSIONS_DIR"),
                                     os.path.expanduser("~/.cache/torch_extensions")) if folder]
    seen, old = 0, []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not any(file.startswith(folder + os.sep) for folder in folders):
            continue
        seen += 1
        if older_than_sources(file):
            old.append(name)
    if seen:
        activation.tell("extensions.stale", "yes" if old else "no")
        if old:
            activation.tell("extensions.stale.names", ", ".join(sorted(old))[:LONGEST_VALUE])


def older_than_sources(library):
    try:
        built = os.stat(library).st_mtime
        with open(os.path.join(os.path.dirname(library), "build.ninja"), encoding="utf-8") as file:
            text = file.read(LARGEST_FILE)
    except (OSError, UnicodeDecodeError):
        return False
    sources = [word for line in text.splitlines() if line.startswith("build ") for word in line.split()[1:]
               if word.endswith((".cpp", ".cc", ".cxx", ".cu"))]
    for source in sources[:MOST_SOURCES]:
        try:
            if os.stat(source).st_mtime > built:
                return True
        except OSError:
            pass
    return False
