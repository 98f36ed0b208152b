# nginx with three workers: requests under load, a new configuration taken up, a clean end.
# nginx.sh PORT [TRACER ARGUMENT...]: says the same with and without a tracer.
port=$1; shift
here=$(pwd)
mkdir www && seq 20000 >www/index.html && chmod 755 . www
user=; [ "$(id -u)" = 0 ] && user="user root;"
cat >nginx.conf <<END
$user worker_processes 3; pid $here/pid; error_log $here/errors; daemon off;
events { worker_connections 256; }
http { access_log off; gzip on; gzip_min_length 1;
  client_body_temp_path $here/b; proxy_temp_path $here/p; fastcgi_temp_path $here/f; uwsgi_temp_path $here/u; scgi_temp_path $here/s;
  server { listen 127.0.0.1:$port; root $here/www; } }
END
"$@" nginx -p "$here" -c "$here/nginx.conf" >log 2>&1 &
server=$!
page() { curl -s --compressed "http://127.0.0.1:$port/"; }
for _ in $(seq 300); do page >/dev/null && break; sleep 0.1; done
for _ in 1 2 3 4; do (for _ in $(seq 40); do page | cksum; done | sort | uniq -c) & clients="$clients $!"; done
wait $clients
kill -HUP "$(cat pid)"
for _ in $(seq 100); do grep -q reconfiguring errors 2>/dev/null && break; sleep 0.05; done
page | cksum
kill -QUIT "$(cat pid)"
wait $server
echo "status $?"
grep -E 'emerg|alert|crit|exited on signal' errors
exit 0
