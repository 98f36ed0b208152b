package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestInterceptOpening has calls captured that open the window themselves, and close it: by a native int3, by a count in the cache, and where
// code would toggle the window.
func TestInterceptOpening(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/opening.c", "-no-pie")
	each := func(step int) (all []string) {
		for i := step - 1; i < 200; i += step {
			all = append(all, fmt.Sprintf("each(a=%d, x=1.5) = %g", i, float64(i)+1.5))
		}
		return all
	}
	const eachCall = `<Call name="each"/>`
	for name, c := range map[string]struct {
		window, on, till, function string
		want                       []string
	}{
		"once":    {"", eachCall, `<Return name="each"/>`, "each", each(1)[:1]},
		"again":   {` reopenable="true"`, eachCall, `<Return name="each"/>`, "each", each(1)},
		"third":   {` reopenable="true"`, `<Call name="each" threshold="3"/>`, `<Return name="each"/>`, "each", each(3)},
		"address": {` reopenable="true"`, fmt.Sprintf(`<Address value="%#x"/>`, labels(t, prog)["each"]), `<Return name="each"/>`, "each", each(1)},
		"threads": {"", `<Call name="later"/>`, "", "later", []string{"later(us=100000) = 100000", "later(us=100001) = 100001", "later(us=100002) = 100002"}},
	} {
		for way, records := range []string{"", `<Instruction cat="any"/>`} {
			for n, engine := range []string{"", "no-toggle", "no-jumps"} {
				if !inTurn(n, way, 2) {
					continue
				}
				t.Run(strings.Join([]string{name, records, engine}, " "), func(t *testing.T) {
					t.Parallel()
					dir := workDir(t)
					till := c.till
					if till != "" {
						till = "<Till>" + till + "</Till>"
					}
					text := `<AlleriaConfig version="1.0"><Window` + c.window + `><On>` + c.on + `</On>` + till + `<Profile><Process><Thread><Image main="true">` +
						`<Function name="` + c.function + `"><Intercept auto="true"/>` + records + `</Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
					args := []string{alleria(), "-q", "record", "-o", profileDir, "-c", writeFile(t, dir, "c.xml", text)}
					if engine != "" {
						args = append(args, "--engine", engine)
					}
					run(t, command{argv: append(args, "--", prog), dir: dir})
					got := intercepts(t, dir)
					if slices.Sort(got); !slices.Equal(got, sorted(c.want)) {
						t.Errorf("got %d calls, %q, want %d, %q", len(got), clip([]byte(strings.Join(got, "\n"))), len(c.want), clip([]byte(strings.Join(c.want, "\n"))))
					}
				})
			}
		}
	}
}

func sorted(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Sort(lines)
	return lines
}
