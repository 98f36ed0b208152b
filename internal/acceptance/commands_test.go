package acceptance

// program is one row of the table of commands.
type program struct {
	name  string // in the documentation
	argv  []string
	stdin string
	heavy bool // recorded to disk with -every only
}

// p is a row whose name is how it is called.
func p(argv ...string) program { return program{name: argv[0], argv: argv} }

// in gives a row its standard input.
func (c program) in(file string) program { c.stdin = file; return c }

// long marks a row that takes ten times longer than most.
func (c program) long() program { c.heavy = true; return c }

// as gives a row a name of its own.
func (c program) as(name string) program { c.name = name; return c }

// commands are the programs that must not notice. Inputs are those of
// inputScript; they are small because recording writes several bytes for each
// instruction. Each row is there for a reason of its own: another language
// runtime, vector code, signals, children, or sheer breadth of instructions.
func commands() []program {
	var all []program
	for _, group := range [][]program{compression(), checksums(), text(), files(), languages(), tools(), children()} {
		all = append(all, group...)
	}
	return all
}

// compression: tight loops, unaligned and overlapping copies, threads.
func compression() []program {
	return []program{
		p("gzip", "-9", "-k", "-n", "text"), p("gzip", "-d", "-k", "text2.gz").as("gzip -d"),
		p("bzip2", "-k", "small"), p("bzip2", "-d", "-c", "small2.bz2").as("bzip2 -d"),
		p("xz", "-0", "-k", "-T1", "small"), p("xz", "-0", "-k", "-T2", "--block-size=4096", "small").as("xz, 2 threads"), p("xz", "-d", "-c", "small2.xz").as("xz -d"),
		p("zstd", "-q", "-3", "text"), p("zstd", "-q", "-T2", "-1", "text", "-o", "t.zst").as("zstd, 2 threads"), p("zstd", "-q", "-d", "text2.zst", "-o", "out").as("zstd -d"),
		p("lz4", "-q", "text", "text.lz4"), p("lz4", "-q", "-d", "text2.lz4", "out").as("lz4 -d"),
		p("brotli", "-q", "5", "-k", "text"), p("pigz", "-p", "2", "-b", "128", "-n", "-c", "text").as("pigz, 2 threads"),
		p("zip", "-q", "-X", "-r", "t.zip", "tree").as("zip"), p("unzip", "-q", "tree.zip", "-d", "un").as("unzip"),
	}
}

// checksums: the instructions that processors got for them.
func checksums() []program {
	return []program{
		p("md5sum", "text"), p("sha256sum", "text"), p("sha512sum", "small"), p("b2sum", "text"), p("cksum", "text"), p("sum", "text"),
		p("openssl", "dgst", "-sha256", "text").as("openssl dgst"),
		p("openssl", "enc", "-aes-256-cbc", "-K", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "-iv", "00112233445566778899aabbccddeeff", "-in", "text", "-out", "enc").as("openssl enc"),
		p("openssl", "rsa", "-in", "key.pem", "-check", "-noout").as("openssl rsa"),
		p("openssl", "dgst", "-sha256", "-sign", "key.pem", "-out", "sig", "text").as("openssl sign"),
	}
}

// text: the C library's string functions in their vector forms, regular
// expressions, locales.
func text() []program {
	return []program{
		p("sort", "text"), p("sort", "-n", "-k", "2", "table"), p("uniq", "-c", "sorted"), p("wc", "text"), p("cut", "-d,", "-f2", "table.csv"),
		p("tr", "a-z", "A-Z").in("small"), p("grep", "-n", "-E", "(foo|ba+r)[0-9]*", "text"), p("grep", "-P", "-c", `\w+\s+\d{2}`, "text").as("grep -P"),
		p("sed", "-e", "s/[aeiou]/<&>/g", "small"), p("mawk", "{s[$1]+=$2} END{for(k in s) print k, s[k]}", "table").as("mawk"),
		p("gawk", "{n[length($0)]++} END{PROCINFO[\"sorted_in\"]=\"@ind_num_asc\"; for(k in n) print k, n[k]}", "text").as("gawk"),
		p("od", "-A", "x", "-t", "x1z", "small"), p("xxd", "small"), p("base64", "small"), p("tac", "small"), p("fold", "-w", "20", "small"),
		p("comm", "sorted", "sorted2"), p("join", "sorted", "sorted2"), p("iconv", "-f", "UTF-8", "-t", "UTF-16", "small"),
		p("diff", "-u", "sorted", "sorted2"), p("patch", "-s", "sorted", "the.diff"), p("cmp", "sorted", "sorted2"), p("factor", "1234567890123", "99999999999999"),
		p("jq", ".items | map(select(.n > 3)) | length", "data.json").as("jq"), p("xmllint", "--format", "data.xml"), p("groff", "-Tascii", "-ms", "small").as("groff (children)"),
		p("m4", "the.m4"), p("ed", "-s", "small").in("ed.script").as("ed"), p("strings", "prog"),
	}
}

// files: system calls in number.
func files() []program {
	return []program{
		p("ls", "-lR", "tree"), p("find", "tree", "-name", "*1*", "-size", "+0"), p("du", "-a", "--apparent-size", "tree"),
		p("tar", "-cf", "t.tar", "--sort=name", "tree"), p("tar", "-xf", "tree.tar", "-C", "empty").as("tar -x"), p("cp", "-a", "tree", "tree2"),
		p("rm", "-r", "tree"), p("dd", "if=text", "of=out", "bs=1000", "status=none"), p("split", "-l", "50", "small"), p("file", "prog", "text", "data.xml", "text2.gz", "key.pem"),
		p("readelf", "-a", "prog"), p("objdump", "-d", "prog"), p("nm", "prog").long(),
	}
}

// languages: interpreters, collectors, compilers, and programs made by them.
func languages() []program {
	return []program{
		p("perl", "the.pl", "text"), p("/usr/bin/python3", "-S", "the.py").as("python3"), p("/usr/bin/python3", "-S", "threads.py").as("python3, threads").long(),
		p("lua5.4", "the.lua"), p("luajit", "jit.lua").as("luajit (JIT)"), p("ruby", "--disable=gems", "the.rb"), p("tclsh", "the.tcl"), p("node", "the.js").as("node (JIT)").long(), p("guile", "--no-auto-compile", "-q", "the.scm").as("guile (JIT)"), p("php", "-n", "the.php"),
		p("sbcl", "--noinform", "--no-sysinit", "--no-userinit", "--non-interactive", "--eval", "(progn (defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (print (f 14)) (print (handler-case (car 5) (type-error () 1))) (gc :full t) (sb-ext:exit :code 7))").as("sbcl (JIT, write barriers by signals)").long(),
		p("sqlite3", ":memory:").in("the.sql"), p("bc", "-l").in("the.bc"), p("dc", "-e", "2 200 ^ 17 % 30 k 2 v p f").as("dc"),
		p("cc1", "-quiet", "-O2", "hello.i", "-o", "hello.s").long(), p("as", "hello2.s", "-o", "out.o"), p("ld", "-r", "hello2.o", "-o", "out.o"), p("c++filt", "_ZNSt6vectorIiSaIiEE9push_backERKi"),
	}
}

// tools: programs of many parts.
func tools() []program {
	return []program{
		p("git", "-C", "repo", "--no-pager", "log", "-p").as("git log"), p("git", "-C", "repo", "--no-pager", "diff", "HEAD~1").as("git diff"), p("git", "-C", "repo", "status").as("git status"), p("git", "-C", "repo", "fsck", "--full").as("git fsck"),
		p("ffmpeg", "-nostdin", "-loglevel", "error", "-threads", "2", "-f", "lavfi", "-i", "testsrc=size=64x64:rate=5", "-t", "1", "-f", "framemd5", "-").as("ffmpeg (vector code)"),
		p("date", "-d", "2001-02-03 + 40 days", "+%F %A"), p("seq", "1", "3", "2000"), p("timeout", "0.2", "sleep", "10").as("timeout (kills its child)"),
		p("false"), p("ls", "missing").as("ls (fails)"), p("busybox", "md5sum", "text").as("busybox (static)"),
	}
}

// children: programs that start others, which run untraced and unharmed.
func children() []program {
	return []program{
		p("dash", "alone.sh").as("dash, no children"), p("bash", "alone.sh").as("bash, no children"), p("dash", "children.sh").as("dash with children"), p("bash", "children.sh").as("bash with children"), p("zsh", "-f", "alone.sh").as("zsh, no children"),
		p("make", "-s", "-j2", "-f", "the.mk").as("make"), p("xargs", "-n", "30", "echo").in("table").as("xargs"), p("env", "X=1", "printenv", "X").as("env (executes another)"),
		p("gcc", "-O1", "hello.i", "-o", "out").as("gcc (children)").long(), p("find", "tree", "-name", "*1", "-exec", "wc", "-c", "{}", "+").as("find -exec"), p("tar", "-czf", "t.tgz", "--mtime=@0", "--sort=name", "tree").as("tar -z"),
		p("sort", "--parallel=2", "-S", "20k", "--compress-program=gzip", "text").as("sort with threads and children"),
	}
}
