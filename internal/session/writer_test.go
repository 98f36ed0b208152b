package session

import (
	"testing"

	"alleria/abp"
	"alleria/config"
)

// TestHeaderFlags: a profile's header has a flag for each kind of thing that a configuration asks for.
func TestHeaderFlags(t *testing.T) {
	for _, c := range []struct {
		thread, instruction string
		want                abp.HeaderFlags
	}{
		{"", "", 0},
		{` syscalls="true"`, "", abp.FlagSyscalls},
		{` signals="true"`, "", abp.FlagSignals},
		{"", ` accessAddressAndSize="true"`, abp.FlagAddresses},
		{"", ` accessAddressAndSize="true" accessValue="true"`, abp.FlagAddresses | abp.FlagValues},
		{"", ` branch="true" timeStamp="true"`, abp.FlagBranches | abp.FlagTimeStamps},
		{"", ` routineId="true"`, abp.FlagRoutines},
		{"", ` registers="rax"`, abp.FlagRegisters},
	} {
		text := `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread` + c.thread + `><Image><Function><Instruction cat="any"` + c.instruction +
			`/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
		conf, _, err := config.Parse("w.xml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := flagsOfConfig(conf); got != c.want|abp.FlagInstructions {
			t.Errorf("%s%s: flags %b, want %b", c.thread, c.instruction, got, c.want|abp.FlagInstructions)
		}
	}
}
