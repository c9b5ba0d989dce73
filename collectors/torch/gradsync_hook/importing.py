"""Calls us back once, right after one module has been imported. Other imports pay one string comparison."""
import sys


def when_imported(name, callback):
    if name in sys.modules:  # a .pth file may have been faster
        callback()
    else:
        sys.meta_path.insert(0, _Finder(name, callback))


class _Finder:
    def __init__(self, name, callback):
        self.name = name
        self.callback = callback

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                self._follow(spec.loader)
                return spec
        return None

    def _follow(self, loader):
        """Shadows exec_module for one call: the loader keeps its type and everything else it offers."""
        if not hasattr(loader, "exec_module"):
            return
        original = loader.exec_module

        def exec_module(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            original(module)  # its exception is the program's; the next attempt is followed again
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            try:
                self.callback()
            except Exception:  # patches guard themselves; without them the job just runs unobserved
                pass

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass
