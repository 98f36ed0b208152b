# gdb's word on the calls of a program: gdb -batch -x values.py PROGRAM, with AT (addresses at which functions have their arguments where debug
# information says), LIMIT (calls) and OUT in the environment. A line of JSON in OUT for each call of a function that has debug information, and
# for each return, and one at the end: what its arguments and its result are. The program is built without optimisation. What gdb cannot tell is "?".
import json
import os

import gdb

out = open(os.environ["OUT"], "w")
limit = int(os.environ.get("LIMIT", "2000"))
counts = {}


def scalar(v, t):
    if t.code == gdb.TYPE_CODE_ENUM:
        return {"enum": str(v), "int": int(v)}
    if t.code == gdb.TYPE_CODE_BOOL:
        return {"int": int(v)}
    if t.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR):
        return {"int": int(v), "size": t.sizeof}
    if t.code == gdb.TYPE_CODE_FLT:
        return {"float": str(v) if t.sizeof > 8 else repr(float(v)), "size": t.sizeof}
    return None


def parts(v, t):
    if t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        fields = [f for f in t.fields() if hasattr(f, "bitpos") and not f.artificial and not f.is_base_class]
        if any(f.is_base_class for f in t.fields()):
            return "?"
        return {"fields": [[f.name or "", tree(v[f], 0)] for f in fields]}
    if t.code == gdb.TYPE_CODE_ARRAY:
        low, high = t.range()
        if t.sizeof == 0:
            return {"elements": []}
        return {"elements": [tree(v[i], 0) for i in range(low, min(high, low + 999) + 1)]}
    if t.code == gdb.TYPE_CODE_COMPLEX:
        re, im = str(v).rstrip("i").split(" + ")
        return {"fields": [["re", {"float": re}], ["im", {"float": im}]]}
    return "?"


def pointer(v, t, depth):
    to = t.target()
    bare = to.strip_typedefs()
    at = int(v.cast(gdb.lookup_type("unsigned long"))) if t.code == gdb.TYPE_CODE_PTR else int(v.referenced_value().address)
    if at == 0:
        return {"null": True}
    known = {"at": at}
    if depth and bare.code not in (gdb.TYPE_CODE_VOID, gdb.TYPE_CODE_FUNC):
        try:
            known["to"] = tree(v.referenced_value(), depth - 1)
        except gdb.error:
            pass
    return known


def tree(v, depth):
    try:
        t = v.type.strip_typedefs()
        if t.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            return pointer(v, t, depth)
        plain = scalar(v, t)
        return parts(v, t) if plain is None else plain
    except (gdb.error, ValueError, OverflowError):
        return "?"


def has_vector(t):
    """gdb looks for the upper half of a vector's result in the second register."""
    t = t.strip_typedefs()
    if t.code == gdb.TYPE_CODE_ARRAY:
        return t.is_vector if hasattr(t, "is_vector") else "vector" in str(t)
    return False


def say(**what):
    out.write(json.dumps(what) + "\n")


class Left(gdb.FinishBreakpoint):
    def __init__(self, frame, number, thread):
        super().__init__(frame, internal=True)
        self.silent, self.call, self.on = True, number, thread

    def returned(self):
        if self.return_value is not None:
            say(thread=self.on, call=self.call, result=tree(self.return_value, 1))


class Entered(gdb.Breakpoint):
    def entered(self):
        frame = gdb.newest_frame()
        fn = frame.function()
        if fn is None:
            return
        thread = gdb.selected_thread().num
        counts[thread] = counts.get(thread, 0) + 1
        params = [s for s in frame.block() if s.is_argument] if frame.block().function else []
        say(thread=thread, call=counts[thread], function=fn.name.split("(")[0], of={s.name: tree(s.value(frame), 1) for s in params})
        result = fn.type.target().strip_typedefs()
        if result.code == gdb.TYPE_CODE_VOID or has_vector(result):
            return
        try:
            Left(frame, counts[thread], thread)
        except (ValueError, gdb.error):
            pass


stopped = []
for setting in ("pagination off", "print elements unlimited", "breakpoint pending off", "startup-with-shell off", "confirm off", "width 0"):
    gdb.execute("set " + setting)
gdb.execute("starti", to_string=True)  # the image is where it will be
for address in os.environ["AT"].split():
    Entered("*" + address, internal=True).silent = True
gdb.events.stop.connect(stopped.append)
gdb.execute("run", to_string=True)
while gdb.selected_inferior().pid and sum(counts.values()) < limit:
    seen = stopped[-1] if stopped else None
    if not isinstance(seen, gdb.BreakpointEvent):
        break
    # Returns first: where a function returns to, another may begin.
    for b in sorted(seen.breakpoints, key=lambda b: isinstance(b, Entered)):
        b.entered() if isinstance(b, Entered) else b.returned()
    stopped.clear()
    try:
        gdb.execute("continue", to_string=True)
    except gdb.error:
        break
say(end=True)
out.close()
gdb.execute("kill" if gdb.selected_inferior().pid else "quit")
