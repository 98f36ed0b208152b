package config

import (
	"strings"
	"testing"
)

// TestForms pairs what is written with the warning's advice; empty for none.
func TestForms(t *testing.T) {
	for form, right := range map[string]string{
		"MOV_GPRv_MEMv":                    "",
		"ADD_LOCK_MEMv_GPRv":               "",
		"REP_MOVSB":                        "",
		"CPUID":                            "",
		"XCRYPT_ECB":                       "",
		"SHL_GPRv_CL":                      "",
		"ADD_OrAX_IMMz":                    "",
		"VPTERNLOGD_ZMM_MASK_ZMM_ZMM_IMMb": "",
		"ADD_GPRv_GPRv_01":                 `write "ADD_GPRv_GPRv"`,
		"SHL_GPRv_IMMb_C1r4":               `write "SHL_GPRv_IMMb"`,
		"NOP_MEMv_0F1F":                    `write "NOP_MEMv"`,
		"PXOR_XMMdq_MEMdq":                 `write "PXOR_XMM_MEMdq"`,
		"ADDSD_XMMsd_MEMsd":                `write "ADDSD_XMM_MEMq"`,
		"CALL_NEAR_RELBRd":                 `write "CALL_RELBRd"`,
		"RET_NEAR":                         `write "RET"`,
		"ANDN_VGPR32d_VGPR32d_MEMd":        `write "ANDN_GPR32_GPR32_MEMd"`,
		"VADDPS_ZMMf32_MASKmskw_ZMMf32_ZMMf32_AVX512": `write "VADDPS_ZMM_MASK_ZMM_ZMM"`,
		"MOV_GPRx_MEMv": "the nearest known one is GPR",
		"MOV_gprv":      "the nearest known one is GPRv",
	} {
		c, warnings, err := Parse("f", []byte(profileText(`<Process><Thread><Image><Function><Instruction form="`+form+`"/></Function></Image></Thread></Process>`)))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case right == "" && len(warnings) > 0, right != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].Right, right)):
			t.Errorf("%s: %v, want %q", form, warnings, right)
		}
		if got := c.Windows[0].Profile.Processes[0].Threads[0].Images[0].Functions[0].Instructions[0].Value; got != form {
			t.Errorf("%s became %s", form, got)
		}
	}
}

func TestMatches(t *testing.T) {
	foo := FuncKey{Linked: "_ZN2ns3fooEv", Demangled: "ns::foo", Aliases: []FuncKey{{Linked: "foo_alias"}}}
	for _, c := range []struct {
		f    Function
		want bool
	}{
		{Function{}, true}, {Function{Name: "ns::foo"}, true}, {Function{Name: "ns::*"}, true}, {Function{Name: "foo_alias"}, true},
		{Function{Name: "_ZN2ns3fooEv", Decorated: true}, true}, {Function{Name: "ns::foo", Decorated: true}, false}, {Function{Name: "foo"}, false},
	} {
		if got := c.f.Matches(foo); got != c.want {
			t.Errorf("%q %t: %t", c.f.Name, c.f.Decorated, got)
		}
	}
	libc := ImageKey{Path: "/lib/libc.so.6", System: true}
	for _, c := range []struct {
		i    Image
		want bool
	}{
		{Image{}, true}, {Image{Name: "libc.so.6"}, true}, {Image{Path: "/lib/libc.so.6"}, true}, {Image{Name: "libc.so"}, false},
		{Image{Main: true}, false}, {Image{AnyButSys: true}, false},
	} {
		if got := c.i.Matches(libc); got != c.want {
			t.Errorf("%+v: %t", c.i, got)
		}
	}
}
