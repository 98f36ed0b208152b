# Programs that change who they are, what they see, and how their terminal works.
# rights.sh PORT [TRACER ARGUMENT...]: says the same with and without a tracer; no port is used. For root.
shift
"$@" sudo -u nobody sh -c 'id -un; exit 5' 2>log
echo "sudo $?"
"$@" su nobody -s /bin/sh -c 'id -un; exit 6' 2>>log
echo "su $?"
"$@" setpriv --reuid 65534 --clear-groups --no-new-privs sh -c 'id -u; (exit 3)'
echo "setpriv $?"
"$@" unshare -Upf --mount-proc sh -c 'echo $$; test -d /proc/1; exit 4' 2>>log
echo "unshare $?"
"$@" script -qc 'test -t 1 && echo a terminal; exit 3' /dev/null </dev/null 2>>log
"$@" timeout 0.3 sleep 5
echo "timeout $?"
"$@" bash -ic 'sleep 0.1 & wait; echo done; fg 2>/dev/null; exit 2' 2>>log </dev/null
echo "bash $?"
