# SPDX-License-Identifier: Apache-2.0
"""Found by the interpreter in place of the program's own sitecustomize, which it
runs as well: waits for `import torch` and then installs a feed (krtsan_torch.py),
so that krtsan knows PyTorch's blocks.  Put into PYTHONPATH by `krtsan run --torch`.

Its folder stays on sys.path: programs hand that to the processes they start."""
import sys


def _here():
    return __file__.rpartition("/")[0]


def _same(path, folder):
    import os
    try:
        return path == folder or os.path.samefile(path, folder)
    except (OSError, TypeError, ValueError):
        return False


class _Finder:
    """Finds torch as the finders behind it do, and runs the feed once it is loaded."""

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        try:
            sys.meta_path.remove(self)
        except ValueError:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                self.watch(spec.loader)
                return spec
        sys.meta_path.insert(0, self)  # it may be found another time
        return None

    def watch(self, loader):
        folder, real = self.folder, getattr(loader, "exec_module", None)

        def exec_module(module):
            vars(loader).pop("exec_module", None)
            real(module)
            try:
                _load(folder, "krtsan_torch").install(module)
            except Exception as error:  # the program goes on, whatever happens to us
                sys.stderr.write("krtsan: torch: the feed could not be installed: %s: %s\n"
                                 % (type(error).__name__, error))

        try:
            loader.exec_module = exec_module  # on this one object; gone when torch is loaded
        except AttributeError:
            sys.stderr.write("krtsan: torch: its loader cannot be followed: no feed\n")


def _load(folder, name):
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from importlib.util import module_from_spec
    file = folder + "/" + name + ".py"
    spec = ModuleSpec("_" + name, SourceFileLoader("_" + name, file), origin=file)
    spec.has_location = True
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _hidden(folder):
    """Runs the sitecustomize that ours hides, as the interpreter would have."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec
    spec = PathFinder.find_spec("sitecustomize", [p for p in sys.path if not _same(p, folder)])
    if spec is None or spec.loader is None:
        # what the interpreter expects where there is none
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _main():
    folder = _here()
    sys.meta_path.insert(0, _Finder(folder))
    _hidden(folder)


_main()
