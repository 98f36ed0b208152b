package acceptance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// TestNumbersOverExecve looks whether threads are numbered in order of creation through
// all programs that a process executes: in profiles, counts, events and selections.
func TestNumbersOverExecve(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/numbers.S", "-nostdlib -static -no-pie")
	at := labels(t, prog)
	all := record(t, workDir(t), windowed("", "", ""), prog)
	if got, want := slices.Sorted(maps.Keys(all)), []string{"1.2/3", "1.2/4", "1.2/5", "1.3/3", "1.3/6", "1/1", "1/2", "1/3"}; !slices.Equal(got, want) {
		t.Fatalf("threads %v, want %v", got, want)
	}
	for thread, function := range map[string]string{"1/3": "third", "1.2/3": "again", "1.2/4": "fourth", "1.2/5": "fifth", "1.3/3": "again", "1.3/6": "sixth"} {
		if all[thread].functions[function] == 0 {
			t.Errorf("%s executed %v, not %s", thread, all[thread].functions, function)
		}
	}
	third := slices.Concat(all["1/3"].addrs, all["1.2/3"].addrs, all["1.3/3"].addrs)
	first, second := len(all["1/3"].addrs), len(all["1.2/3"].addrs)
	opens := func(event, profile string) map[string]recorded {
		return record(t, workDir(t), windowed("", "<On>"+event+"</On>", ""), prog)
	}
	t.Run("counts", func(t *testing.T) {
		for _, n := range []int{first - 5, first, first + 1, first + second - 1, first + second + 17, len(third) - 1} {
			got := opens(fmt.Sprintf(`<Instructions threshold="%d" thread="3"/>`, n), "")
			if seq := slices.Concat(got["1/3"].addrs, got["1.2/3"].addrs, got["1.3/3"].addrs); !slices.Equal(seq, third[n:]) {
				t.Errorf("at %d: thread 3 recorded %d instructions, not %d", n, len(seq), len(third)-n)
			}
		}
	})
	t.Run("events", func(t *testing.T) {
		for event, want := range map[string]string{
			`<Creation process="1" thread="4"/>`:                     "1.2/4",
			`<Creation process="1" thread="6"/>`:                     "1.3/6",
			`<Call name="work" thread="5"/>`:                         "1.2/5",
			`<Call name="work" thread="6"/>`:                         "1.3/6",
			`<Instructions threshold="1" thread="6"/>`:               "1.3/6",
			`<Syscall name="exit" thread="4"/>`:                      "1.2/5",
			`<Creation process="1" thread="7"/>`:                     "",
			`<Instructions threshold="20" thread="4" since="open"/>`: "1.2/4",
		} {
			got := opens(event, "")
			switch {
			case want == "" && len(got) > 0:
				t.Errorf("%s: %d threads recorded", event, len(got))
			case want == "":
			case got[want].addrs == nil || event[1:5] == "Call" && got[want].first() != at["work"]:
				t.Errorf("%s: begins at %#x in %s", event, got[want].first(), want)
			}
		}
	})
	t.Run("selections", func(t *testing.T) {
		selected := `<Thread n="%d"><Image><Function name="work"><Instruction cat="any"/></Function></Image></Thread>`
		for n, want := range map[int][]string{3: {"1.2/3", "1.3/3", "1/3"}, 4: {"1.2/4"}, 6: {"1.3/6"}} {
			got := record(t, workDir(t), `<AlleriaConfig version="1.0"><Window><Profile><Process>`+fmt.Sprintf(selected, n)+`</Process></Profile></Window></AlleriaConfig>`, prog)
			if threads := slices.Sorted(maps.Keys(got)); !slices.Equal(threads, want) {
				t.Errorf("thread %d: %v recorded, want %v", n, threads, want)
			}
		}
	})
	t.Run("only counted", func(t *testing.T) {
		dir := workDir(t)
		run(t, command{argv: []string{alleria(), "-q", "record", "--only", "count", "-o", profileDir, "--", prog}, dir: dir})
		var report struct {
			Processes []struct {
				PerThread []struct{ Number, Instructions int } `json:"per_thread"`
			}
		}
		if err := json.Unmarshal(run(t, command{argv: []string{alleria(), "report", "--json", profileDir}, dir: dir}).stdout, &report); err != nil {
			t.Fatal(err)
		}
		for i, th := range report.Processes[0].PerThread {
			want := 0
			for _, program := range []string{"1", "1.2", "1.3"} {
				want += len(all[fmt.Sprintf("%s/%d", program, i+1)].addrs)
			}
			// Others may be ended before their last instructions.
			if th.Number != i+1 || th.Instructions != want && th.Number == 3 {
				t.Errorf("thread %d: %d instructions, recorded are %d", th.Number, th.Instructions, want)
			}
		}
	})
}
