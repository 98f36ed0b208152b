package adaptive

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"alleria/abp"
)

// log is a run that ramps up, settles and ramps down.
func log() []abp.Adaptation {
	return []abp.Adaptation{
		{Event: abp.EventStart, Phase: "X", Next: "X", Threads: 2, Settings: &abp.AdaptiveSettings{Period: 1, TP: 0.5, TAY1: 0.1, TAY2: 0.1, TAZ: 0.05, Most: 4}},
		{Time: 1, Period: 1, Event: abp.EventTimer, Phase: "X", Next: "X", Action: abp.ActionCreate, Threads: 3, ATWT: 0.75, Load: abp.Load{AppCPU: 1}, Buffers: 16, Added: 4, Why: "application threads wait"},
		{Time: 2, Period: 1, Event: abp.EventTimer, Phase: "X", Next: "Y", Threads: 3, Load: abp.Load{AppCPU: 1}, Buffers: 16, Why: "there is room for no more"},
		{Time: 3, Period: 1, Event: abp.EventTimer, Phase: "Y", Next: "Y", Threads: 3, Buffers: 16},
		{Time: 4, Period: 1, Event: abp.EventTimer, Phase: "Z", Next: "Z", Action: abp.ActionSuspend, Threads: 2, Suspended: 1, PTIT: 1.5, Buffers: 16, Why: "<idle>"},
		{Time: 4.5, Period: 0.5, Event: abp.EventEnd, Phase: "Z", Next: "Z", Threads: 2},
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, New(log(), 45), 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+ created", "TP 50%", "application threads waiting (atwt)", "create", "suspend", "X>Y", "there is room for no more", "0.75 threads", "the end"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "3.00  Y ") {
		t.Errorf("a period in which nothing was decided is listed:\n%s", b.String())
	}
	b.Reset()
	if err := Text(&b, New(log(), 45), 2); err != nil || !strings.Contains(b.String(), "3 more") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestSpread holds that a column's value is the average over its time, whatever the width.
func TestSpread(t *testing.T) {
	for _, columns := range []int{1, 9, 45, 450} {
		c := New(log(), columns)
		sum := 0.0
		for _, v := range c.Measures[0].Values { // two of 4.5 seconds with one processor
			sum += v
		}
		if got := sum / float64(columns) * c.Seconds; math.Abs(got-2) > 0.01 {
			t.Errorf("%d columns: %g processor seconds", columns, got)
		}
	}
}

func TestSVG(t *testing.T) {
	var b bytes.Buffer
	if err := SVG(&b, New(log(), Columns), "a & b"); err != nil {
		t.Fatal(err)
	}
	marks := 0
	for d := xml.NewDecoder(&b); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := tok.(xml.CharData); ok && (strings.Contains(string(text), "application threads wait") && strings.Contains(string(text), "create") || strings.Contains(string(text), "<idle>")) {
			marks++
		}
	}
	if marks != 2 {
		t.Errorf("%d changes of the number of threads are marked", marks)
	}
}

// FuzzChart draws what no run writes.
func FuzzChart(f *testing.F) {
	good, err := json.Marshal(log())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`[{"t":1e308},{"t":-1e308,"period":1e308}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var rows []abp.Adaptation
		if json.Unmarshal(text, &rows) != nil {
			return
		}
		c := New(rows, 20)
		if err := errors.Join(Text(io.Discard, c, 3), SVG(io.Discard, c, "fuzz")); err != nil {
			t.Error(err)
		}
	})
}
