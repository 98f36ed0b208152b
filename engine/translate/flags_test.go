package translate

import (
	"testing"

	"alleria/engine/codecache"
	"alleria/engine/x86"
)

// TestCountFlags has a block's count change flags only where they are written before they are read whichever way is gone behind the block, and borrow a register that
// the block overwrites first, or does not read.
func TestCountFlags(t *testing.T) {
	const add = x86.NoReg                                                              // the count is an addition, which borrows none
	jmp, jrcxz := []byte{0x89, 0xc5, 0xeb, 0x01, 0xcc}, []byte{0x89, 0xc5, 0xe3, 0x03} // mov ebp, eax, and over what follows
	for _, c := range []struct {
		name string
		code []byte
		want x86.Reg
	}{
		{"written behind a jump", append(jmp[:5:5], 0x39, 0xc8, 0xc3), add},                                                            // cmp eax, ecx; ret
		{"read behind a jump", append(jmp[:5:5], 0x0f, 0x92, 0xc0, 0x39, 0xc8, 0xc3), x86.RBP},                                         // setb al; cmp eax, ecx; ret
		{"some of them written", append(jmp[:5:5], 0xff, 0xc0, 0xc3), x86.RBP},                                                         // inc eax; ret
		{"written on both ways", append(jrcxz[:4:4], 0x39, 0xc8, 0xc3, 0x29, 0xc8, 0xc3), add},                                         // cmp eax, ecx; ret; sub eax, ecx; ret
		{"read where it falls", append([]byte{0x89, 0xc5, 0xe3, 0x06}, 0x0f, 0x92, 0xc0, 0x39, 0xc8, 0xc3, 0x29, 0xc8, 0xc3), x86.RBP}, // setb al; cmp eax, ecx; ret; sub eax, ecx; ret
		{"read where it jumps", append(jrcxz[:4:4], 0x29, 0xc8, 0xc3, 0x0f, 0x92, 0xc0, 0x39, 0xc8, 0xc3), x86.RBP},
		{"returned", []byte{0x89, 0xc5, 0xc3}, x86.RBP},
		{"nothing written", []byte{0x90, 0xc3}, x86.R11},
		{"read and written", []byte{0x48, 0x8d, 0x40, 0x01, 0x4d, 0x89, 0x1a, 0xc3}, x86.RCX}, // lea rax, [rax+1]; mov [r10], r11; ret
	} {
		for _, plain := range []bool{false, true} {
			u, cache, _ := translator(t, c.code)
			u.PlainCounts = plain
			b := u.Translate(codeAt, codecache.Count)
			ins, _ := written(t, cache, b)
			got, want := add, c.want
			if ins[0].Mnem == x86.MMOV {
				got = x86.Reg(ins[0].ModRM>>3&7 | ins[0].Rex<<1&8)
			}
			if plain {
				want = x86.RAX
			}
			if got != want {
				t.Errorf("%s, plain %v: borrows %d, want %d", c.name, plain, got, want)
			}
		}
	}
}
