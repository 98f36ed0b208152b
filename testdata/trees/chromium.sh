# A browser with its processes renders a page that a script writes to.
# chromium.sh PORT [TRACER ARGUMENT...]: says the same with and without a tracer; no port is used.
shift
echo '<h1>hello</h1><script>document.write([1,2,3].map(x=>x*x).join("-"))</script>' >page.html
"$@" chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
	--disable-component-update --disable-sync --user-data-dir="$(pwd)/profile" --dump-dom "file://$(pwd)/page.html" 2>log
echo "status $?"
