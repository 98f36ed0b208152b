package codecache

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"alleria/internal/layout"
	"alleria/internal/records"
)

// TestStubConstants compares the words that the assembly routines use with the
// layout that the rest shares.
func TestStubConstants(t *testing.T) {
	src, err := os.ReadFile("routines_amd64.S")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{
		"TGT": layout.Tgt, "BUF": layout.Buf, "END": layout.End, "NEGEND": layout.NegEnd, "AWAIT": layout.Await, "TOP": layout.Top,
		"PLACE": layout.Place, "S0": layout.S0, "S1": layout.S1, "REQ": layout.Req, "ASK": layout.Ask, "REQARG": layout.ReqArg,
		"RESP": layout.Resp, "ASLEEP": layout.Asleep, "HEAD": layout.Head, "CHUNKB": layout.ChunkBytes,
		"CHUNKS": layout.Chunks, "BUFFERING": layout.Buffering, "LAST": layout.Last, "TAKEN": layout.Taken, "CLEARW": layout.Clear, "GUARD": layout.SlotGuard, "LASTOFF": layout.SlotLast, "BATCH": layout.SlotBatch, "NWAY": layout.BufferNWay, "BATCHED": layout.BufferBatched, "FLOOR": layout.Floor, "LOST": layout.Lost, "LOSTWORDS": layout.LostWords, "WAITS": layout.Waits, "WAITTSC": layout.WaitTSC, "TAIL": layout.Tail, "STARVED": layout.Starved,
		"CONTROL": layout.ControlPtr, "SIGCOPY": layout.SigCopy, "CARRY": layout.Carry, "RESUME": layout.Resume, "BACK": layout.Back, "POP": layout.Pop,
		"INSIDE": layout.Inside, "TOGGLES": layout.Toggles, "SAVE": layout.Save, "SFLAGS": layout.SaveFlags,
		"CHUNKCTL": layout.ChunkCtl, "MAXCHUNK": layout.MaxChunks, "SLACK": layout.RingSlack, "BELLBELOW": layout.BellBelow, "DOORBELL": layout.Doorbell,
		"TASLEEP": layout.TracerAsleep, "TRACERCPU": layout.TracerCPU, "CROWDED": layout.Crowded, "REQCPU": layout.ReqCPU, "CBELL": layout.ConsumerBell, "CASLEEP": layout.ConsumerAsleep, "NOCALLS": layout.NoCalls,
		"FRAMEPLACE": layout.FramePlace, "FRAMESP": layout.FrameSP, "FRAMESITE": layout.FrameSite, "FRAMENONE": layout.FrameNone,
		"REQ_INDIRECT": layout.ReqIndirect, "PLACES": layout.PlaceTable, "PCODE": layout.PlaceCode, "PMARK": layout.PlaceMark,
		"CAWAIT": layout.CaptureAwait, "CTOP": layout.CaptureTop, "FRAMESG": layout.FramesG, "FRAMESHI": layout.FramesHi, "GOAWAIT": layout.GoAwait, "CGOAWAIT": layout.CaptureGoAwait, "FRAMESLO": layout.FramesLo, "CBACK": layout.CaptureBack, "CSPILL": layout.CaptureSpill, "CNEXT": layout.CaptureNext,
		"CNATIVE": layout.CaptureNative, "CASKAT": layout.CaptureAskAt, "CLEFTSP": layout.CaptureLeftSP, "CLEFTTO": layout.CaptureLeftTo,
		"CENTERS": layout.CaptureEnters, "CTEXT": layout.CaptureText, "CFRAMES": layout.CaptureFrames, "CFSP": layout.CaptureFrames + layout.CaptureSP,
		"CFSITE": layout.CaptureFrames + layout.CaptureSite, "CFPOINT": layout.CaptureFrames + layout.CapturePoint, "CFRAME": layout.CaptureFrame,
		"CMASK": layout.CaptureFrame*layout.CaptureMax - 1, "CSITES": layout.CaptureSites, "CSITEMASK": layout.MaxCaptureSites - 1,
		"CSITESHIFT": layout.CaptureSiteShift, "CLEAVES": layout.CaptureLeaves, "CMAXLEAVES": layout.MaxCaptureLeaves, "MARKCALL": records.MarkCall,
		"PADDR": layout.PlaceAddr, "PINSIDE": layout.PlaceInside, "PTO": layout.PlaceTo, "PSET": layout.PlaceSet, "PGONE": layout.PlaceGone,
	}
	for _, m := range regexp.MustCompile(`(?m)^#define (\w+)\s+(\w+)`).FindAllStringSubmatch(string(src), -1) {
		n, err := strconv.ParseUint(m[2], 0, 64)
		if w, known := want[m[1]]; known && (err != nil || n != w) {
			t.Errorf("%s is %s, want %#x", m[1], m[2], w)
		}
		delete(want, m[1])
	}
	for name := range want {
		t.Errorf("%s is not defined", name)
	}
}

// TestSlotPartsDoNotOverlap checks the parts of a slot that grew beside each other.
func TestSlotPartsDoNotOverlap(t *testing.T) {
	type part struct {
		name       string
		start, end int
	}
	parts := []part{
		{"await", layout.Await, layout.Place + 4}, {"mailbox", layout.Req, layout.Asleep + 4},
		{"return words", layout.Back, layout.Toggles + 8},
		{"save area", layout.Save, layout.SaveFlags + 8}, {"operand", layout.Operand, layout.VecSave + 64},
		{"counting", layout.CountReg, layout.CountLanes + 8}, {"edges' words", layout.EdgeRAX, layout.EdgeSite + 4}, {"budgets", layout.Budgets, BudgetOff(NumMetrics, 0)}, {"x87 registers", layout.FXSave, layout.FXSave + 512},
		{"chunk control", layout.ChunkCtl, layout.ChunkCtl + layout.MaxChunks*layout.ChunkCtlSize},
		{"captures", layout.CaptureAwait, layout.CaptureVec + 16*64},
		{"frames' places", layout.FramePlace, layout.FramePlace + 2*layout.FrameMax},
		{"tables", layout.TableOff, int(TableOff(NumVariants))}, {"counters", layout.CounterOff, layout.CounterOff + 8*layout.MaxCounters},
		{"captures' frames", layout.CaptureFrames, layout.CaptureFrames + layout.CaptureFrame*layout.CaptureMax},
		{"frames", layout.FrameSP, layout.FrameSite + 8*layout.FrameMax}, {"edges", layout.EdgeKeys, layout.EdgeCounts + 8*layout.EdgeEntries}, {"ring", layout.RingOff, layout.RingOff + layout.RingMax},
		{"slot", layout.SlotSize, layout.SlotSize},
	}
	for i, p := range parts[1:] {
		if q := parts[i]; p.start < q.end {
			t.Errorf("%s from %#x overlaps %s up to %#x", p.name, p.start, q.name, q.end)
		}
	}
}
