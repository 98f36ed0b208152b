package window

import (
	"testing"

	"alleria/config"
)

func set(t *testing.T, body string) *Set {
	t.Helper()
	cfg, _, err := config.Parse("test.xml", []byte(`<AlleriaConfig version="1.0">`+body+`</AlleriaConfig>`))
	if err != nil {
		t.Fatal(err)
	}
	return New(cfg)
}

const profile = `<Profile><Process/></Profile>`

// fire fires the n-th leaf and returns how many transitions followed.
func fire(s *Set, n int) int { return len(s.Fire(s.Leaves()[n])) }

func TestOpenFromTheStart(t *testing.T) {
	s := set(t, `<Window><Till><Return name="f"/></Till>`+profile+`</Window>`)
	if got := s.Start(); len(got) != 1 || !got[0].Opened {
		t.Fatalf("start: %+v", got)
	}
	if s.Done() || s.Open() != 1 {
		t.Fatal("not open after the start")
	}
	if fire(s, 0) != 1 || s.Open() != 0 || !s.Done() {
		t.Fatal("does not close for good")
	}
	if fire(s, 0) != 0 {
		t.Fatal("closes twice")
	}
}

func TestThresholdStartsAgain(t *testing.T) {
	s := set(t, `<Window reopenable="true"><On><Call name="f" threshold="3"/></On><Till><Return name="f"/></Till>`+profile+`</Window>`)
	s.Start()
	for round := range 2 {
		if fire(s, 0)+fire(s, 0) != 0 {
			t.Fatalf("round %d: opens before the third call", round)
		}
		if fire(s, 1) != 0 {
			t.Fatalf("round %d: closes while closed", round)
		}
		if fire(s, 0) != 1 || s.Open() != 1 {
			t.Fatalf("round %d: does not open on the third call", round)
		}
		if fire(s, 1) != 1 {
			t.Fatalf("round %d: does not close", round)
		}
	}
	if s.Done() || !s.Reopens() {
		t.Fatal("a reopenable window is done")
	}
}

func TestAllAndOne(t *testing.T) {
	s := set(t, `<Window><On><All><Call name="a"/><One><Call name="b"/><Call name="c"/></One></All></On>`+profile+`</Window>`)
	s.Start()
	if fire(s, 2) != 0 || s.Open() != 0 {
		t.Fatal("opens on One alone")
	}
	if fire(s, 2) != 0 {
		t.Fatal("an event counts twice")
	}
	if fire(s, 0) != 1 || s.Open() != 1 {
		t.Fatal("does not open on All")
	}
	if got := s.Finish(); len(got) != 1 || got[0].Opened || got[0].Reason() != "end of the process" {
		t.Fatalf("finish: %+v", got)
	}
}

// TestCountsStayReached: a window whose Till is a count that has been reached would
// close as it opens, for ever.
func TestCountsStayReached(t *testing.T) {
	s := set(t, `<Window reopenable="true"><On><Instructions threshold="1"/></On><Till><One><Call name="f"/><Instructions threshold="2"/></One></Till>`+profile+`</Window>`)
	s.Start()
	if fire(s, 0) != 1 || fire(s, 1) != 1 || s.Done() {
		t.Fatal("does not close on a call, or for good")
	}
	if fire(s, 0) != 1 || fire(s, 2) != 1 || !s.Done() {
		t.Fatal("may open again behind its last instruction")
	}
}
