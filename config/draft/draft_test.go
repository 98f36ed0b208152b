package draft

import (
	"strings"
	"testing"

	"alleria/config"
)

// TestLoads has every draft be a configuration without a warning, and say what was asked for.
func TestLoads(t *testing.T) {
	drafts := map[string]Draft{
		`name="a&lt;b&gt;::f"`:                {Functions: []string{"a<b>::f"}, Image: "app"},
		`<Call name="f" imagePath="/lib/x"/>`: {OnCall: "f@/lib/x", TillReturn: "f", Reopenable: true, Image: "x.so"},
		`<Instructions threshold="1G"/>`:      {Instructions: "1G:", Image: "all"},
		`<!-- 2 gcc - -c -->`:                 {Process: "2,cc*,/bin/ld", Notes: map[int]string{2: "2 gcc --c"}, Image: "main"},
		`<Window name="a&#34;b">`:             {Name: `a"b`},
	}
	for _, what := range Recordables() {
		drafts[`<Instruction cat="`+map[string]string{"addresses": "anyMem", "values": "anyMem", "blocks": "any", "branches": "COND_BR", "all": "any"}[what]] = Draft{What: what, Image: "main"}
	}
	for want, d := range drafts {
		if d.What == "" {
			d.What = "addresses"
		}
		text, err := d.Text()
		if err != nil {
			t.Errorf("%+v: %v", d, err)
			continue
		}
		_, warnings, err := config.Parse("draft", text)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%+v: %v %v\n%s", d, err, warnings, text)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%+v: no %s in\n%s", d, want, text)
		}
	}
}

// TestContradictions: what contradicts itself is refused in the words of options.
func TestContradictions(t *testing.T) {
	for want, d := range map[string]Draft{
		"--what is one of addresses, values, blocks, branches and all": {What: "everything"},
		"--instructions is two numbers":                                {What: "all", Instructions: "5"},
		"is not a count like":                                          {What: "all", Instructions: "5X:"},
		"a window opens and closes on one event each":                  {What: "all", OnCall: "f", Instructions: "5:"},
		"--reopenable needs an event":                                  {What: "all", TillReturn: "f", Reopenable: true},
		"--process":                                                    {What: "all", Process: "0"},
	} {
		if _, err := d.Text(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", d, err, want)
		}
	}
}
