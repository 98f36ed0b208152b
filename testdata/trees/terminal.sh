# An interactive shell under a pseudo-terminal, and what its user does with jobs: stop, list, background, foreground, interrupt.
# terminal.sh PORT [TRACER ARGUMENT...]: says the same with and without a tracer; no port is used.
shift
cat >user.py <<'P'
import os, pty, re, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(PS1='READY ', TERM='dumb', HISTFILE='')
    argv = sys.argv[1:] + ['bash', '--norc', '--noprofile', '-i']
    os.execvp(argv[0], argv)
seen = b''
def until(what):
    global seen
    end = time.monotonic() + 120
    while what not in seen:
        if time.monotonic() > end or not select.select([fd], [], [], 120)[0]:
            sys.exit('%r does not come: %r' % (what, seen))
        seen += os.read(fd, 4096)
    at = seen.index(what) + len(what)
    text, seen = seen[:at], seen[at:]
    return text.decode()
def say(words, then=b'READY '):
    os.write(fd, words)
    print(re.sub(r'(?<=\[1\]) \d+|\x1b\[[?0-9a-z]*|\r', '', until(then)))
def foreground(name):
    "waits until a job of that name has the terminal"
    for n in range(12000):
        try:
            if open('/proc/%d/comm' % os.tcgetpgrp(fd)).read().strip() == name: return
        except OSError: pass
        time.sleep(0.01)
    sys.exit('no ' + name)
until(b'READY ')
os.write(fd, b'stty -echo\n'); until(b'READY ')
say(b'sleep 1000 | cat & jobs -r | wc -l\n')
os.write(fd, b'fg >/dev/null\n'); foreground('sleep'); say(b'\x1a')
say(b'jobs | grep -c Stopped\n')
say(b'bg >/dev/null; jobs -r | wc -l; kill %1; wait %1 2>/dev/null; echo $?\n')
os.write(fd, b'sleep 1001\n'); foreground('sleep'); say(b'\x03')
say(b'echo $?\n')
os.write(fd, b'cat\n'); foreground('cat'); say(b'one line\n', b'one line'); os.write(fd, b'\x04'); until(b'READY ')
say(b'trap "echo caught" INT; sh -c "kill -INT \\$PPID"; echo $?\n')
os.write(fd, b"(trap 'exit 9' WINCH; echo there; while :; do sleep 0.05; done)\n"); until(b'there')
import fcntl, struct, termios
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 33, 99, 0, 0)); until(b'READY ')
say(b'echo $?; stty size\n')
os.write(fd, b'exit 7\n')
while True:
    try:
        if not os.read(fd, 4096): break
    except OSError: break
print('ended with', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
P
/usr/bin/python3 user.py "$@" 2>&1
