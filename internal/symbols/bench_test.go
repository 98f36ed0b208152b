package symbols

import "testing"

// The time until names are there is part of every run's start.
func benchmarkFunctions(b *testing.B, path string) {
	system(b, path)
	b.ReportAllocs()
	for b.Loop() {
		im, err := OpenWith(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if len(im.Functions()) == 0 {
			b.Fatal("no functions")
		}
		im.Close()
	}
}

func BenchmarkFunctionsLibc(b *testing.B) {
	benchmarkFunctions(b, "/lib/x86_64-linux-gnu/libc.so.6")
}

func BenchmarkFunctionsPython(b *testing.B) { benchmarkFunctions(b, "/usr/bin/python3") }

func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		im, err := OpenWith("/usr/bin/python3", Options{})
		if err != nil {
			b.Fatal(err)
		}
		im.Close()
	}
}

func BenchmarkLookup(b *testing.B) {
	im := mustOpen(b, system(b, "/usr/bin/python3"))
	fns := im.Functions()
	i := 0
	for b.Loop() {
		im.Lookup(fns[i].Addr + 1)
		i = (i + 7919) % len(fns)
	}
}

func BenchmarkFind(b *testing.B) {
	im := mustOpen(b, system(b, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"))
	im.Functions()
	for b.Loop() {
		im.Find("std::vector::push_back", false)
	}
}
