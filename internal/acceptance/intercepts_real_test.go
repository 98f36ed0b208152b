package acceptance

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// realCalls are functions of programs that nobody built here: what is captured of them, and the calls that have to be there.
type realCalls struct {
	argv   []string
	stdout string
	files  map[string]string // written beside the configuration
	flags  []string
	// image and functions say what is captured; types stands in front of the window.
	types, image, functions string
	want                    []string // patterns of whole lines, each found behind the one before
}

// TestInterceptRealPrograms captures calls in programs of the system, which have no debug information.
func TestInterceptRealPrograms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]realCalls{
		"sqlite3": {
			argv: []string{"sqlite3", ":memory:", "create table t(a); insert into t values(7); select a from t;"}, stdout: "7\n",
			files: map[string]string{"sqlite.h": `typedef struct sqlite3 sqlite3; typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_prepare_v2(sqlite3 *db, const char *zSql, int nByte, sqlite3_stmt **ppStmt, const char **pzTail);
`},
			flags: []string{"--header", "sqlite.h"}, functions: `<Function name="sqlite3_prepare_v2"><Intercept auto="true"/></Function>`,
			want: []string{`sqlite3_prepare_v2\(db=0x[0-9a-f]+, zSql="create table t\(a\); insert into t values\(7\); select a from t;", nByte=-1, .*\) = 0, .*pzTail=&" insert into t values\(7\); select a from t;"`,
				`sqlite3_prepare_v2\(db=0x[0-9a-f]+, zSql="select a from t;", nByte=-1, .*\) = 0, .*pzTail=&""`},
		},
		"python3": {
			argv: []string{"/usr/bin/python3", "-S", "-E", "-c", "print(max(*(1, 2), **{}))"}, stdout: "2\n",
			files: map[string]string{"python.h": `typedef struct _object { long ob_refcnt; struct _typeobject *ob_type; } PyObject;
struct _typeobject { PyObject ob_base; long ob_size; const char *tp_name; long tp_basicsize, tp_itemsize; };
PyObject *PyObject_Call(PyObject *callable, PyObject *args, PyObject *kwargs);
`},
			flags: []string{"--header", "python.h"}, functions: `<Function name="PyObject_Call"><Intercept auto="true" depth="3"/></Function>`,
			want: []string{`PyObject_Call\(callable=&\{.*tp_name="type", .*\}, args=&\{.*tp_name="tuple", .*\}, kwargs=(NULL|&\{.*tp_name="dict", .*\})\) = (NULL|&\{.*\}).*`},
		},
		// A virtual method: this is parameter 0, and std::string is a pointer and a length behind a reference.
		"protoc": {
			argv:  []string{"protoc", "--descriptor_set_out=/dev/null", "some.proto"},
			files: map[string]string{"some.proto": "syntax = \"proto3\";\nmessage M { int32 a = 1; }\n"},
			types: `<Pointer name="text" elementType="ascii" direction="inc" countVariable="size"/><Type name="string"><Field name="data" type="text"/><Field name="size" type="u8"/></Type>` +
				`<Pointer name="reference" elementType="string" count="1"/>`,
			functions: `<Function name="google::protobuf::compiler::SourceTreeDescriptorDatabase::FindFileByName"><Intercept retType="bool"><Parameter name="this" index="0" type="ptr" in="true"/>` +
				`<Parameter name="filename" index="1" type="reference" in="true"/></Intercept></Function>`,
			want: []string{`google::protobuf::compiler::SourceTreeDescriptorDatabase::FindFileByName\(this=0x[0-9a-f]+, filename=&\{data="some.proto", size=10\}\) = true`},
		},
	} {
		t.Run(name, func(t *testing.T) { c.check(t) })
	}
}

// check captures and compares.
func (c *realCalls) check(t *testing.T) {
	dir := workDir(t)
	for name, text := range c.files {
		writeFile(t, dir, name, text)
	}
	config := writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0"><Types>`+c.types+`</Types><Window><Profile><Process><Thread><Image `+c.image+`>`+c.functions+
		`</Image></Thread></Process></Profile></Window></AlleriaConfig>`)
	argv := append([]string{alleria(), "-q", "record", "-o", profileDir, "-c", config}, c.flags...)
	r := run(t, command{argv: append(append(argv, "--"), c.argv...), dir: dir})
	if r.status != 0 || string(r.stdout) != c.stdout || len(r.stderr) > 0 {
		t.Errorf("status %d, %s%s", r.status, clip(r.stdout), clip(r.stderr))
	}
	lines := intercepts(t, dir, "--max-string", "0")
	i := 0
	for _, line := range lines {
		if i < len(c.want) && regexp.MustCompile("^"+c.want[i]+"$").MatchString(line) {
			i++
		}
	}
	if i < len(c.want) {
		t.Errorf("%s is not in\n%s", c.want[i], clip([]byte(strings.Join(lines, "\n"))))
	}
	run(t, command{argv: []string{alleria(), "verify", profileDir}, dir: dir})
}

// TestInterceptCallback has a function of the C library and what it calls back: the callback's calls stand within it.
func TestInterceptCallback(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	src := writeFile(t, dir, "sorts.c", `#include <stdio.h>
#include <stdlib.h>
struct item { int key; const char *name; };
static int by_key(const void *a, const void *b) { return ((const struct item *)a)->key - ((const struct item *)b)->key; }
int main(void)
{
	struct item items[] = {{3, "three"}, {1, "one"}};
	qsort(items, 2, sizeof *items, by_key);
	puts(items[0].name);
	return 0;
}
`)
	prog := build(t, src, "-fno-builtin")
	config := filepath.Join(dir, "c.xml")
	// The program says void: who knows better says what it is.
	writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0"><Types><Pointer name="name" elementType="ascii" direction="inc" sentinel="0"/><Type name="item"><Field name="key" type="s4"/><Field name="name" type="name"/></Type>`+
		`<Pointer name="items" elementType="item" direction="inc" countVariable="n"/><Pointer name="element" elementType="item" count="1"/></Types><Window><Profile><Process><Thread>`+
		`<Image main="true"><Function name="by_key"><Intercept auto="true"><Parameter name="a" index="0" type="element" in="true"/><Parameter name="b" index="1" type="element" in="true"/></Intercept></Function></Image>`+
		`<Image name="libc.so.6"><Function name="qsort"><Intercept><Parameter name="base" index="0" type="items" in="true" out="true"/><Parameter name="n" index="1" type="u8" in="true"/></Intercept></Function></Image>`+
		`</Thread></Process></Profile></Window></AlleriaConfig>`)
	if out := intercepted(t, dir, config, prog); out != "one\n" {
		t.Errorf("it prints %q", out)
	}
	const three, one = `{key=3, name="three"}`, `{key=1, name="one"}`
	want := "1/1 qsort(base={" + three + "," + one + "}, n=2) {\n1/1   by_key(a=&" + three + ", b=&" + one + ") {\n1/1   } by_key = 2\n1/1 } qsort returned, base={" + one + "," + three + "}"
	if got := strings.Join(intercepts(t, dir, "--nested"), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
