package x86

import (
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
)

// forms pairs machine code (as GNU as made it) with the form. Where XED's iform
// has the same spelling but for an opcode at its end, that is meant to be so.
var forms = []struct{ code, asm, form string }{
	{"488b07", "mov rax, [rdi]", "MOV_GPRv_MEMv"},
	{"8907", "mov [rdi], eax", "MOV_MEMv_GPRv"},
	{"4889d8", "mov rax, rbx", "MOV_GPRv_GPRv"},
	{"88dc", "mov ah, bl", "MOV_GPR8_GPR8"},
	{"66b80500", "mov ax, 5", "MOV_GPRv_IMMv"},
	{"48b88877665544332211", "movabs rax, …", "MOV_GPRv_IMMv"},
	{"48c7c005000000", "mov rax, 5", "MOV_GPRv_IMMz"},
	{"a08877665544332211", "movabs al, […]", "MOV_AL_MEMb"},
	{"8ed8", "mov ds, eax", "MOV_SEG_GPR16"},
	{"0f20c0", "mov rax, cr0", "MOV_GPRv_CR"},
	{"0401", "add al, 1", "ADD_AL_IMMb"},
	{"05a0860100", "add eax, 100000", "ADD_OrAX_IMMz"},
	{"66052c01", "add ax, 300", "ADD_OrAX_IMMz"},
	{"4883c001", "add rax, 1", "ADD_GPRv_IMMb"},
	{"f0480107", "lock add [rdi], rax", "ADD_LOCK_MEMv_GPRv"},
	{"488d4708", "lea rax, [rdi+8]", "LEA_GPRv_AGEN"},
	{"55", "push rbp", "PUSH_GPRv"},
	{"6a05", "push 5", "PUSH_IMMb"},
	{"68a0860100", "push 100000", "PUSH_IMMz"},
	{"0fa0", "push fs", "PUSH_FS"},
	{"ff10", "call [rax]", "CALL_MEMv"},
	{"e89b860100", "call .+100000", "CALL_RELBRd"},
	{"ffe0", "jmp rax", "JMP_GPRv"},
	{"74fe", "jz .", "JZ_RELBRb"},
	{"c3", "ret", "RET"},
	{"c20800", "ret 8", "RET_IMMw"},
	{"f3a4", "rep movsb", "REP_MOVSB"},
	{"f3a6", "repe cmpsb", "REPE_CMPSB"},
	{"f2ae", "repne scasb", "REPNE_SCASB"},
	{"48ab", "stosq", "STOSQ"},
	{"486bc305", "imul rax, rbx, 5", "IMUL_GPRv_GPRv_IMMb"},
	{"48f7eb", "imul rbx", "IMUL_GPRv"},
	{"f6f3", "div bl", "DIV_GPR8"},
	{"48d1e0", "shl rax, 1", "SHL_GPRv_ONE"},
	{"48c1e003", "shl rax, 3", "SHL_GPRv_IMMb"},
	{"48d3e0", "shl rax, cl", "SHL_GPRv_CL"},
	{"480fa5d8", "shld rax, rbx, cl", "SHLD_GPRv_GPRv_CL"},
	{"0fb607", "movzx eax, byte ptr [rdi]", "MOVZX_GPRv_MEMb"},
	{"4863c1", "movsxd rax, ecx", "MOVSXD_GPRv_GPR32"},
	{"480fb107", "cmpxchg [rdi], rax", "CMPXCHG_MEMv_GPRv"},
	{"f0480fc70f", "lock cmpxchg16b [rdi]", "CMPXCHG16B_LOCK_MEMdq"},
	{"4893", "xchg rax, rbx", "XCHG_GPRv_OrAX"},
	{"90", "nop", "NOP"},
	{"f30f1efa", "endbr64", "ENDBR64"},
	{"0fa2", "cpuid", "CPUID"},
	{"c8100001", "enter 16, 1", "ENTER_IMMw_IMMb"},
	{"ec", "in al, dx", "IN_AL_DX"},
	{"dfe0", "fnstsw ax", "FNSTSW_OrAX"},
	{"d8c1", "fadd st, st(1)", "FADD_ST0_X87"},
	{"dcc1", "fadd st(1), st", "FADD_X87_ST0"},
	{"d907", "fld dword ptr [rdi]", "FLD_MEMd"},
	{"db3f", "fstp tbyte ptr [rdi]", "FSTP_MEMt"},
	{"0f6f07", "movq mm0, [rdi]", "MOVQ_MMX_MEMq"},
	{"0f1007", "movups xmm0, [rdi]", "MOVUPS_XMM_MEMdq"},
	{"f2480f2ac0", "cvtsi2sd xmm0, rax", "CVTSI2SD_XMM_GPR64"},
	{"660f6ec0", "movd xmm0, eax", "MOVD_XMM_GPR32"},
	{"c5f45807", "vaddps ymm0, ymm1, [rdi]", "VADDPS_YMM_YMM_MEMqq"},
	{"c4e3714ac230", "vblendvps xmm0, xmm1, xmm2, xmm3", "VBLENDVPS_XMM_XMM_XMM_XMM"},
	{"c4e26992048f", "vgatherdps xmm0, [rdi+xmm1*4], xmm2", "VGATHERDPS_XMM_MEMd_XMM"},
	{"c4e2e3f6c1", "mulx rax, rbx, rcx", "MULX_GPR64_GPR64_GPR64"},
	{"62f16c49580f", "vaddps zmm1{k1}, zmm2, [rdi]", "VADDPS_ZMM_MASK_ZMM_MEMzd"},
	{"62f36d4925cb07", "vpternlogd zmm1{k1}, zmm2, zmm3, 7", "VPTERNLOGD_ZMM_MASK_ZMM_ZMM_IMMb"},
	{"0fae27", "xsave [rdi]", "XSAVE_MEM"},
}

func TestFormName(t *testing.T) {
	for _, c := range forms {
		code, err := hex.DecodeString(c.code)
		if err != nil {
			t.Fatal(err)
		}
		var a [1]Insn
		if n, why := Decode(code, 0x1000, a[:]); n != 1 {
			t.Errorf("%s: not decoded: %d", c.asm, why)
			continue
		}
		if got := a[0].FormName(); got != c.form {
			t.Errorf("%s is %s, want %s", c.asm, got, c.form)
		}
	}
}

// grammar is FormName's comment as a regular expression.
var grammar = regexp.MustCompile(`^(REP_|REPE_|REPNE_)?[A-Z][A-Z0-9]*(_LOCK)?(_(` +
	`GPR8|GPRv|GPR16|GPR32|GPR64|MMX|XMM|YMM|ZMM|MASK|X87|ST0|SEG|CR|DR|BND|TMM|` +
	`AL|CL|DX|OrAX|FS|GS|AGEN|ONE|(IMM|RELBR)[bwdqvz]|MEM(b|w|d|q|t|dq|qq|zd|v)?))*$`)

// TestFormNameGrammar decodes every two-byte start with every ModRM byte, also
// with prefixes, and holds the names against the grammar.
func TestFormNameGrammar(t *testing.T) {
	var a [1]Insn
	seen := map[string]bool{}
	for _, prefix := range []string{"", "\x66", "\xf2", "\xf3", "\x48", "\xc5\xf4", "\xc4\xe2\xf5", "\x62\xf1\x6c\x49", "\x0f", "\x66\x0f", "\x0f\x38"} {
		for op := range 256 {
			for modrm := 0; modrm < 256; modrm += 7 {
				code := append([]byte(prefix), byte(op), byte(modrm), 0, 0, 0, 0, 0, 0, 0, 0, 0)
				if n, _ := Decode(code, 0, a[:]); n != 1 {
					continue
				}
				name := a[0].FormName()
				if seen[name] {
					continue
				}
				seen[name] = true
				rest, found := strings.CutPrefix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "REPNE_"), "REPE_"), "REP_"),
					strings.ToUpper(a[0].ClassName()))
				// A class may hold underscores of its own (XCRYPT_ECB).
				if !found || !grammar.MatchString("X"+rest) {
					t.Errorf("% x: %s is not in the grammar", code, name)
				}
			}
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d forms", len(seen))
	}
}
