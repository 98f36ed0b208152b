package x86

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"alleria/internal/records"
)

// TestAccesses compares what Accesses derives with what the manuals say: L or
// S, size, address; behind it what kind of access it is.
func TestAccesses(t *testing.T) {
	var lines, want []string
	for _, line := range strings.Split(strings.TrimSpace(accessTable), "\n") {
		text, accesses, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("table: %q", line)
		}
		lines, want = append(lines, text), append(want, strings.TrimSpace(accesses))
	}
	code := assemble(t, lines)
	var one [1]Insn
	for i := range lines {
		n, why := Decode(code, 0x1000, one[:])
		if n == 0 {
			t.Fatalf("%s: not decoded: %v", lines[i], why)
		}
		var got []string
		for _, o := range one[0].Accesses(nil) {
			got = append(got, describe(&o))
		}
		if s := strings.Join(got, " "); s != want[i] {
			t.Errorf("%s: %q, want %q", lines[i], s, want[i])
		}
		code = code[one[0].Len:]
	}
	if len(code) != 0 {
		t.Errorf("%d bytes too many", len(code))
	}
}

// assemble returns the machine code of the lines.
func assemble(t testing.TB, lines []string) []byte {
	t.Helper()
	dir := t.TempDir()
	src, obj, bin := filepath.Join(dir, "t.s"), filepath.Join(dir, "t.o"), filepath.Join(dir, "t.bin")
	text := ".intel_syntax noprefix\n" + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range [][]string{{"as", "-o", obj, src}, {"objcopy", "-O", "binary", "-j", ".text", obj, bin}} {
		if b, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd[0], err, b)
		}
	}
	code, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// describe writes an operand as accessTable does.
func describe(o *Operand) string {
	names := [...]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}
	var parts []string
	if o.Base != NoReg {
		parts = append(parts, names[o.Base])
	}
	if o.Index != NoReg {
		parts = append(parts, fmt.Sprintf("%s*%d", names[o.Index], o.IndexScale))
	}
	if o.AL {
		parts = append(parts, "al")
	}
	addr := strings.Join(parts, "+")
	if o.Disp != 0 || addr == "" {
		addr += fmt.Sprintf("%+d", o.Disp)
	}
	s := "L"
	if o.Store {
		s = "S"
	}
	s += fmt.Sprintf("%d%s[%s]", o.Size, [...]string{"", "fs", "gs"}[o.Seg], addr)
	mask := fmt.Sprintf("%s%d", [...]string{"none", "k", "signs", "bytes", "mm"}[o.Mask], o.MaskReg)
	if o.MaskWide {
		mask += "w"
	}
	if o.AnyOf != 0 {
		mask += fmt.Sprintf("any%d", o.AnyOf)
	}
	switch o.Kind {
	case records.AccessString:
		s += "rep"
	case records.AccessMasked:
		s += fmt.Sprintf("x%d:%s", o.Lanes, mask)
	case records.AccessPacked:
		s += fmt.Sprintf("packed%d:%s", o.Lanes, mask)
	case records.AccessGather:
		s += fmt.Sprintf("x%d:%s:v%d/%d*%d", o.Lanes, mask, o.VIndex, o.IndexSize, o.Scale)
	case records.AccessBits:
		s += "bits:" + names[o.BitReg]
	}
	if o.AddrBits == 32 {
		s += ":32"
	}
	return s
}

const accessTable = `
mov rax, [rbx+rcx*4-8] => L8[rbx+rcx*4-8]
mov [r12], al => S1[r12]
mov ah, [rbp+5] => L1[rbp+5]
mov word ptr [rsp], 5 => S2[rsp]
mov rax, fs:[0x28] => L8fs[+40]
mov gs:[rcx], eax => S4gs[rcx]
mov eax, [ebx+ecx] => L4[rbx+rcx*1]:32
.byte 0x67, 0x41, 0x8b, 0x04, 0x25, 0x10, 0, 0, 0 => L4[+16]:32
.byte 0x67, 0x45, 0x8b, 0x04, 0x65, 0xf0, 0xff, 0xff, 0xff => L4[-16]:32
.byte 0x67, 0x43, 0x8b, 0x04, 0x65, 0x10, 0, 0, 0 => L4[r12*2+16]:32
.byte 0x67, 0x43, 0x8b, 0x44, 0x65, 0x10 => L4[r13+r12*2+16]:32
.byte 0x41, 0x8b, 0x04, 0x25, 0x10, 0, 0, 0 => L4[+16]
mov al, byte ptr [rip+0x10] => L1[+4118]
movzx eax, word ptr [rax] => L2[rax]
movsxd rax, dword ptr [rax] => L4[rax]
movbe [rax], cx => S2[rax]
movnti [rax], rcx => S8[rax]
lea rax, [rbx+8] => 
push rax => S8[rsp-8]
push 5 => S8[rsp-8]
pushw 5 => S2[rsp-2]
push fs => S8[rsp-8]
push qword ptr [rax] => L8[rax] S8[rsp-8]
push qword ptr [rsp+8] => L8[rsp+8] S8[rsp-8]
pop rax => L8[rsp]
pop cx => L2[rsp]
pop qword ptr [rax] => L8[rsp] S8[rax]
pop qword ptr [rsp] => L8[rsp] S8[rsp+8]
pop qword ptr [rsp+16] => L8[rsp] S8[rsp+24]
pop word ptr [rsp] => L2[rsp] S2[rsp+2]
pop qword ptr [esp] => L8[rsp] S8[rsp+8]:32
pushfq => S8[rsp-8]
pushfw => S2[rsp-2]
popfq => L8[rsp]
call rax => S8[rsp-8]
call 0x1234 => S8[rsp-8]
call qword ptr [rax+8] => L8[rax+8] S8[rsp-8]
call qword ptr [rsp+8] => L8[rsp+8] S8[rsp-8]
call qword ptr [eax] => L8[rax]:32 S8[rsp-8]
call qword ptr fs:[0x10] => L8fs[+16] S8[rsp-8]
jmp rax => 
jmp qword ptr [rax+rcx*8] => L8[rax+rcx*8]
ret => L8[rsp]
ret 16 => L8[rsp]
leave => L8[rbp]
enter 32, 0 => S8[rsp-8]
enter 32, 1 => S8[rsp-8] S8[rsp-16]
enter 32, 3 => S8[rsp-8] L8[rbp-8] S8[rsp-16] L8[rbp-16] S8[rsp-24] S8[rsp-32]
xlatb => L1[rbx+al]
add [rax], ecx => L4[rax] S4[rax]
add ecx, [rax] => L4[rax]
cmp [rax], ecx => L4[rax]
test byte ptr [rax], 1 => L1[rax]
inc word ptr [rax] => L2[rax] S2[rax]
not qword ptr [rax] => L8[rax] S8[rax]
shl dword ptr [rax], cl => L4[rax] S4[rax]
shld [rax], rcx, 5 => L8[rax] S8[rax]
imul rax, [rbx], 5 => L8[rbx]
mul qword ptr [rbx] => L8[rbx]
div byte ptr [rbx] => L1[rbx]
setz [rax] => S1[rax]
cmovz rax, [rbx] => L8[rbx]
xchg [rax], rcx => L8[rax] S8[rax]
lock xadd [rax], cl => L1[rax] S1[rax]
cmpxchg [rax], ecx => L4[rax] S4[rax]
lock cmpxchg8b [rax] => L8[rax] S8[rax]
cmpxchg16b [rax] => L16[rax] S16[rax]
bt dword ptr [rax], 5 => L4[rax]
bt [rax], cx => L2[rax]bits:rcx
lock bts [rax], r9 => L8[rax]bits:r9 S8[rax]bits:r9
movsb => L1[rsi] S1[rdi]
rep movsq => L8[rsi]rep S8[rdi]rep
fs rep movsd => L4fs[rsi]rep S4[rdi]rep
addr32 rep stosw => S2[rdi]rep:32
rep lodsb => L1[rsi]rep
repne scasd => L4[rdi]rep
repe cmpsw => L2[rsi]rep L2[rdi]rep
cmpsd => L4[rsi] L4[rdi]
nop dword ptr [rax] => 
prefetcht0 [rax] => 
prefetchw [rax] => 
prefetchwt1 [rax] => 
bndmov bnd1, [rax] => 
bndmov [rax], bnd1 => 
bndldx bnd1, [rax] => 
bndcl bnd1, [rax] => 
clflush [rax] => 
endbr64 => 
fld tbyte ptr [rax] => L10[rax]
fstp tbyte ptr [rax] => S10[rax]
fadd qword ptr [rax] => L8[rax]
fild word ptr [rax] => L2[rax]
fistp qword ptr [rax] => S8[rax]
fbld tbyte ptr [rax] => L10[rax]
fnstcw [rax] => S2[rax]
fnstsw [rax] => S2[rax]
fldcw [rax] => L2[rax]
fnstenv [rax] => S28[rax]
fldenv [rax] => L28[rax]
fnsave [rax] => S108[rax]
frstor [rax] => L108[rax]
data16 fnstenv [rax] => S14[rax]
data16 frstor [rax] => L94[rax]
fxsave64 [rax] => S512[rax]
fxrstor [rax] => L512[rax]
ldmxcsr [rax] => L4[rax]
stmxcsr [rax] => S4[rax]
movss xmm1, [rax] => L4[rax]
movsd [rax], xmm1 => S8[rax]
movhps xmm1, [rax] => L8[rax]
movlpd [rax], xmm1 => S8[rax]
movddup xmm1, [rax] => L8[rax]
addps xmm1, [rax] => L16[rax]
cvtps2pd xmm1, [rax] => L8[rax]
cvtsi2sd xmm1, dword ptr [rax] => L4[rax]
pinsrw xmm1, [rax], 1 => L2[rax]
pextrb [rax], xmm1, 1 => S1[rax]
insertps xmm1, [rax], 0 => L4[rax]
pmovzxbq xmm1, [rax] => L2[rax]
pcmpistri xmm1, [rax], 0 => L16[rax]
crc32 eax, byte ptr [rbx] => L1[rbx]
maskmovdqu xmm2, xmm11 => S1[rdi]x16:bytes11
maskmovq mm2, mm5 => S1[rdi]x8:mm5
movntdqa xmm1, [rax] => L16[rax]
movdiri [rax], rcx => S8[rax]
movdir64b rax, [rcx] => L64[rcx] S64[rax]
vmovups ymm1, [rax] => L32[rax]
vbroadcastss ymm1, [rax] => L4[rax]
vbroadcastf128 ymm1, [rax] => L16[rax]
vpbroadcastb xmm1, [rax] => L1[rax]
vextracti128 [rax], ymm1, 1 => S16[rax]
vpmovsxbw ymm1, [rax] => L16[rax]
vmaskmovps ymm1, ymm2, [rax] => L4[rax]x8:signs2w
vpmaskmovq [rax], xmm12, xmm1 => S8[rax]x2:signs12
vmaskmovdqu xmm2, xmm3 => S1[rdi]x16:bytes3
vpgatherdd ymm1, [rax+ymm2*4], ymm3 => L4[rax]x8:signs3w:v2/4*4
vpgatherqd xmm1, [rax+ymm2*8], xmm3 => L4[rax]x4:signs3:v2/8*8
vgatherdpd ymm1, [rax+xmm2*1+8], ymm3 => L8[rax+8]x4:signs3w:v2/4*1
vgatherqpd xmm1, [xmm2*2+16], xmm13 => L8[+16]x2:signs13:v2/8*2
vgatherqps xmm1, [rax+xmm2*1], xmm3 => L4[rax]x2:signs3:v2/8*1
vmovdqu64 zmm1, [rax+64] => L64[rax+64]
vmovdqu32 zmm1{k3}, [rax] => L4[rax]x16:k3
vmovdqu8 [rax]{k1}, ymm2 => S1[rax]x32:k1
vmovss xmm1{k2}, [rax] => L4[rax]x1:k2
vmovsd [rax]{k2}, xmm1 => S8[rax]x1:k2
vpaddd zmm1, zmm2, [rax] => L64[rax]
vpaddq zmm1{k1}, zmm2, [rax] => L8[rax]x8:k1
vpaddd zmm1{k1}, zmm2, dword ptr [rax]{1to16} => L4[rax]x1:k1any16
vaddpd zmm1, zmm2, qword ptr [rax+8]{1to8} => L8[rax+8]
vpermd zmm1{k1}, zmm2, [rax] => L64[rax]
vpbroadcastd zmm1{k1}, [rax] => L4[rax]x1:k1any16
vbroadcasti32x4 zmm1{k1}, [rax] => L16[rax]x1:k1any16
vpbroadcastb ymm1{k1}, [rax] => L1[rax]x1:k1any32
vpsrad zmm1{k1}, [rax], 3 => L4[rax]x16:k1
vpsrad zmm1{k1}, zmm2, [rax] => L16[rax]
vpsravd zmm1{k1}, zmm2, [rax] => L4[rax]x16:k1
vpmaddwd zmm1{k1}, zmm2, [rax] => L64[rax]
vpmovqb [rax]{k1}, zmm1 => S1[rax]x8:k1
vpmovzxbd zmm1{k1}, [rax] => L1[rax]x16:k1
vcvtps2pd zmm1{k1}, [rax] => L4[rax]x8:k1
vpcmpd k1{k2}, zmm1, [rax], 1 => L4[rax]x16:k2
vpexpandd zmm1{k1}, [rax] => L4[rax]packed16:k1
vpcompressb [rax]{k1}, zmm1 => S1[rax]packed64:k1
vpexpandq zmm1, [rax] => L64[rax]
vpgatherdd zmm1{k1}, [rax+zmm20*4] => L4[rax]x16:k1:v20/4*4
vgatherqps ymm1{k1}, [rax+zmm2*4] => L4[rax]x8:k1:v2/8*4
vpscatterdq [rax+ymm20*8]{k1}, zmm1 => S8[rax]x8:k1:v20/4*8
vscatterqpd [rax+xmm2*8]{k1}, xmm1 => S8[rax]x2:k1:v2/8*8
kmovq k1, [rax] => L8[rax]
kmovw [rax], k1 => S2[rax]
kmovb [rax], k1 => S1[rax]
kmovd k1, [rax] => L4[rax]
syscall => 
rdsspq rax => 
xbegin 0 => 
xgetbv => 
rdtsc => 
cpuid => 
verr word ptr [rax] => L2[rax]
`
