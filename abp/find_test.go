package abp

import "testing"

// TestFindAllocatesNothing: a report asks for the function and the image of each instruction of each frame.
func TestFindAllocatesNothing(t *testing.T) {
	p := &Process{}
	for n := uint32(2); n < 2000; n += 2 {
		p.functions = append(p.functions, Function{Number: n})
	}
	for n := uint32(0); n < 2003; n++ {
		if f := p.Function(n); (f != nil) != (n > 1 && n < 2000 && n%2 == 0) || f != nil && f.Number != n {
			t.Fatalf("function %d: %+v", n, f)
		}
	}
	if n := testing.AllocsPerRun(10, func() { p.Function(1000) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
