# SPDX-License-Identifier: Apache-2.0
"""
Python frames of every kind.  Each case writes a buffer on one stream and then
on another, and prints what Python says of both stacks.
"""
import asyncio
import contextlib
import ctypes
import functools
import os
import sys
import threading

import cu


def generator(buf, s):
    yield
    cu.told(buf, s)
    yield


def through_generator(buf, s):
    g = generator(buf, s)
    next(g)
    for _ in g:
        pass


def delegating(buf, s):
    yield from generator(buf, s)


def through_delegation(buf, s):
    list(delegating(buf, s))


async def inner(buf, s):
    await asyncio.sleep(0)
    cu.told(buf,
            s)


async def outer(buf, s):
    await inner(buf, s)


def through_coroutine(buf, s):
    asyncio.run(outer(buf, s))


def in_thread(buf, s):
    t = threading.Thread(target=lambda: cu.told(buf, s))
    t.start()
    t.join()


def in_daemon(buf, s):
    t = threading.Thread(target=cu.told, args=(buf, s), daemon=True)
    t.start()
    t.join()


def in_string(buf, s):
    exec("def named():\n\n  cu.told(buf, s)\n\nnamed()", {"cu": cu, "buf": buf, "s": s})


def in_eval(buf, s):
    eval("[cu.told(buf, s)\n for _ in range(1)]", {"cu": cu, "buf": buf, "s": s})


def in_comprehension(buf, s):
    return {k: [cu.told(buf, s) for _ in [0]]
            for k in [1]}


def by_c(buf, s):
    sorted([1, 2], key=functools.partial(lambda y, x: cu.told(buf, s) or 1 if x == y else 0, 1))


def by_ctypes(buf, s):
    ctypes.CFUNCTYPE(None)(functools.partial(cu.told, buf, s))()


class Ended:
    def __init__(self, buf, s):
        self.buf, self.s = buf, s

    def __del__(self):
        cu.told(self.buf, self.s)


def by_end(buf, s):
    e = Ended(buf, s)
    del e


def by_return(buf, s):
    def ends():
        e = Ended(buf, s)
        return 1 if e else 0
    ends()


@contextlib.contextmanager
def manager(buf, s):
    yield
    cu.told(buf, s)


def by_context(buf, s):
    with manager(buf, s):
        pass


class Meta(type):
    def __call__(cls, *args):
        self = super().__call__(*args)
        self.run()
        return self


class Property(metaclass=Meta):
    def __init__(self, buf, s):
        self.buf, self.s = buf, s

    @property
    def value(self):
        return cu.told(self.buf, self.s)

    def run(self):
        try:
            raise KeyError
        except KeyError:
            getattr(self, "value")


def by_class(buf, s):
    class Body:
        cu.told(buf, s)


def deep(buf, s, n=200):
    if n:
        return deep(buf, s, n - 1)
    return cu.told(buf, s)


def through_c_deep(buf, s, n=30):
    if n:
        return list(map(through_c_deep, [buf], [s], [n - 1]))
    return cu.told(buf, s)


def far_apart(buf, s):
    source = "def f():\n" + "\n" * 300 + " x = [\n" + "\n" * 200 + "  cu.told(buf, s), 1]\n" + "f()"
    exec(compile(source, "far.py", "exec"), {"cu": cu, "buf": buf, "s": s})


def long_code(buf, s):
    source = "x = 0\n" + "x += 1; x = (x, x)[0]\n" * 3000 + "cu.told(buf, s)\n" + "x += 2\n" * 300
    exec(compile(source, "long.py", "exec"), {"cu": cu, "buf": buf, "s": s})


def backwards(buf, s):
    for _ in range(2):
        (lambda *a: a)(
            1,
            cu.told(buf, s) if _ else 0,
        )


def foreign_names(buf, s):
    for name, file in (("größe", "datei_ä.py"), ("функция", "файл.py"), ("関数", "ファイル.py"), ("\U00010400x", "\U0001f600.py")):
        b = cu.alloc()
        cu.told(b, first)
        exec(compile("\n\ndef %s():\n    cu.told(b, s)\n%s()" % (name, name), file, "exec"), {"cu": cu, "b": b, "s": s})
    cu.told(buf, s)


def lines_that_change(buf, s):
    """One text after the other, in code objects that take each other's place."""
    places = set()
    for i in range(48):
        b = cu.alloc()
        cu.told(b, first)
        text = "\n" * (i % 7) + "def f%d():\n cu.told(b, s)\nf%d()\ndel f%d"
        code = compile(text % (i // 3, i // 3, i // 3), "<text>", "exec")
        places.add(id(code))
        exec(code, {"cu": cu, "b": b, "s": s})
        del code
    assert len(places) < 40, "no place was used again"
    cu.told(buf, s)


SUB = """
import sys
sys.path[:0] = %r
import cu, ctypes
def inside():
    cu.told(ctypes.c_uint64(%d), ctypes.c_void_p(%d))

inside()
"""


def in_subinterpreter(buf, s):
    if sys.version_info >= (3, 13):
        import _interpreters as interpreters
        sub = interpreters.create("legacy")
    else:
        import _xxsubinterpreters as interpreters
        sub = interpreters.create(isolated=False) if sys.version_info >= (3, 9) else interpreters.create()
    interpreters.run_string(sub, SUB % (sys.path, buf.value, s.value))


cases = [through_generator, through_delegation, through_coroutine, in_thread, in_daemon, in_string, in_eval,
         in_comprehension, by_c, by_ctypes, by_end, by_return, by_context, Property, by_class, deep,
         through_c_deep, far_apart, long_code, backwards, foreign_names, lines_that_change,
         in_subinterpreter]
args = sys.argv[1:]
if args[:1] == ["forked"]:
    del args[0]
    child = os.fork()
    if child:
        sys.exit(os.waitpid(child, 0)[1] >> 8)
if args:
    cases = [globals()[n] for n in args]
cu.start()
first = cu.stream()
for case in cases:
    b = cu.alloc()
    cu.told(b, first)
    case(b, cu.stream())
cu.sync()
