# Further servers, those that are installed one after the other: a client's requests, a clean end.
# daemons.sh PORT [TRACER ARGUMENT...]: says the same with and without a tracer.
# Not among those that clients are given, which nobody can listen at for a minute afterwards.
port=$((20000 + $1 % 10000)); shift
here=$(pwd)
chmod 755 .
mkdir www && seq 2000 >www/a.txt && chmod 755 www
PATH=$PATH:/usr/sbin:/sbin
has() { command -v "$1" >/dev/null; }

# begin NAME ARGUMENT...: waits until the server listens; its process is that of the shell which has become it.
begin() {
	name=$1; shift
	"$@" >log 2>&1 &
	waiting=$!
	for _ in $(seq 300); do
		curl -s --max-time 0.1 "telnet://127.0.0.1:$port" </dev/null >/dev/null 2>&1
		[ $? = 7 ] || return # not refused
		sleep 0.1
	done
	echo "$name does not listen"
	exit 1
}
# As a server that writes no file with its number: "$0" is one, and the rest is executed.
as='echo $$ >pid; exec "$@"'
end() { # SIGNAL
	kill "-$1" "$(cat pid)"
	wait "$waiting"
	echo "$name: status $?"
	rm -f pid
	port=$((port + 1))
}
pages() { for _ in $(seq 50); do curl -s "http://127.0.0.1:$port/$1"; done | cksum; }

if has memcached; then
	begin memcached "$@" bash -c "$as" - memcached -u "$(id -un)" -l 127.0.0.1 -p "$port" -U 0
	{ for i in $(seq 200); do printf 'set k%d 0 0 3\r\nabc\r\nget k%d\r\n' "$i" "$i"; done; printf 'quit\r\n'; sleep 1; } | curl -s --max-time 60 "telnet://127.0.0.1:$port" | cksum
	end TERM
fi
if has lighttpd; then
	printf 'server.document-root="%s/www"\nserver.port=%d\nserver.bind="127.0.0.1"\n' "$here" "$port" >conf
	begin lighttpd "$@" bash -c "$as" - lighttpd -D -f conf
	pages a.txt
	end INT
fi
if has mosquitto && has mosquitto_pub; then
	printf 'listener %d 127.0.0.1\nallow_anonymous true\n' "$port" >conf
	begin mosquitto "$@" bash -c "$as" - mosquitto -c conf
	mosquitto_pub -p "$port" -t x -m kept -r
	mosquitto_sub -p "$port" -t x -C 21 >got &
	client=$!
	for _ in $(seq 100); do [ -s got ] && break; sleep 0.1; done
	for i in $(seq 20); do mosquitto_pub -p "$port" -t x -m "message $i"; done
	wait "$client"
	cksum <got
	end TERM
fi
if has haproxy; then
	printf 'defaults\n mode http\n timeout client 5s\n timeout server 5s\n timeout connect 5s\nfrontend f\n bind 127.0.0.1:%d\n http-request return status 200 content-type text/plain string hello\n' "$port" >conf
	begin haproxy "$@" bash -c "$as" - haproxy -f conf -db
	pages
	end TERM
fi
if has dnsmasq && has dig && [ "$(id -u)" = 0 ]; then
	begin dnsmasq "$@" bash -c "$as" - dnsmasq -d -p "$port" -a 127.0.0.1 --no-resolv --no-hosts --address=/x.test/10.1.2.3 -u root
	for i in $(seq 20); do dig +short -p "$port" @127.0.0.1 "host$i.x.test"; done | cksum
	end TERM
fi
if has caddy; then # of Go
	begin caddy "$@" bash -c "$as" - caddy file-server --listen "127.0.0.1:$port" --root "$here/www"
	pages a.txt
	end TERM
fi
if has apache2 && [ "$(id -u)" = 0 ]; then
	echo "ServerRoot /usr/lib/apache2" >conf
	for m in mpm_event authz_core mime; do echo "LoadModule ${m}_module modules/mod_$m.so"; done >>conf
	printf 'ServerName x\nUser www-data\nGroup www-data\nTypesConfig /etc/mime.types\nPidFile %s/pid\nErrorLog %s/errors\nListen 127.0.0.1:%d\nDocumentRoot %s/www\n' "$here" "$here" "$port" "$here" >>conf
	begin apache2 "$@" apache2 -f "$here/conf" -DFOREGROUND
	pages a.txt
	end WINCH
fi
if has sshd && [ "$(id -u)" = 0 ]; then
	ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f user && cp user.pub authorized && mkdir -p /run/sshd
	begin sshd "$@" "$(command -v sshd)" -D -p "$port" -o ListenAddress=127.0.0.1 -h "$here/host" -o AuthorizedKeysFile="$here/authorized" -o StrictModes=no -o PidFile="$here/pid"
	for _ in 1 2 3; do
		ssh -q -p "$port" -i user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null root@127.0.0.1 'seq 100 | cksum; exit 7'
		echo "$?"
	done
	end TERM
fi
exit 0
