package abp

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"alleria/abp/frame"
)

// BenchmarkRecode encodes the frames of recorded profiles again: what the
// recorder's processing threads do, on what real programs yield. The profiles
// are the runs in the directories that the environment names.
//
//	ALLERIA_RUNS=/tmp/bzip2:/tmp/cc1 go test -bench Recode ./abp
func BenchmarkRecode(b *testing.B) {
	runs := os.Getenv("ALLERIA_RUNS")
	if runs == "" {
		b.Skip("ALLERIA_RUNS names no runs")
	}
	version := frame.Version4 // what is compared may be named
	if v := os.Getenv("ALLERIA_ENCODING"); v != "" {
		version, _ = strconv.Atoi(v)
	}
	for _, dir := range strings.Split(runs, ":") {
		b.Run(filepath.Base(dir), func(b *testing.B) { recode(b, dir, uint16(version)) })
	}
}

// recodeWords bounds how many words of a run are encoded.
const recodeWords = 24 << 20

// recodeChunk is how many words a chunk has, about as many as in a ring.
const recodeChunk = 32 << 10

func recode(b *testing.B, dir string, version uint16) {
	p, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	proc := p.Processes()[0]
	for _, q := range p.Processes() { // of programs that executed others, the one that worked
		if q.Counts().Instructions > proc.Counts().Instructions {
			proc = q
		}
	}
	frames := recodeFrames(b, proc)
	enc, err := frame.NewEncoderOf(version, proc.shape, 0)
	if err != nil {
		b.Fatal(err)
	}
	if version == frame.Version4 { // as the engine has them for it
		addSizes(proc, frames)
		enc.Sized()
	}
	var body []byte
	var execs, size, weight, words uint64
	for b.Loop() {
		execs, size, weight, words = 0, 0, 0, 0
		for _, chunks := range frames {
			enc.Begin()
			for _, c := range chunks {
				if err := enc.Chunk(c, 0, 0); err != nil {
					b.Fatal(err)
				}
			}
			body = enc.Finish(body[:0])
			execs += enc.Execs()
			weight += enc.Weight()
			words += enc.Words
			size += uint64(len(body))
		}
	}
	ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(ns/float64(execs), "ns/block")
	b.ReportMetric(ns/float64(words), "ns/word")
	b.ReportMetric(ns/float64(weight), "ns/ins")
	b.ReportMetric(float64(size)/float64(weight), "B/ins")
}

// addSizes adds its size to each execution's first word.
func addSizes(proc *Process, frames [][][]uint64) {
	for _, chunks := range frames {
		for _, c := range chunks {
			for at := 0; at < len(c); {
				if IsMark(c[at]) {
					at += frame.MarkLen(c[at:])
					continue
				}
				n := int(proc.shape(uint32(c[at])).Words)
				if n < 126 {
					c[at] |= uint64(n+1) << 24
				}
				at += 1 + n
			}
		}
	}
}

// recodeFrames are the words of a profile's first frames, in chunks.
func recodeFrames(b *testing.B, proc *Process) (frames [][][]uint64) {
	dec := frame.NewDecoder(proc.shape)
	words := 0
	list := proc.Threads()[0].Frames
	for i := len(list) / 4; i < len(list); i++ { // starting up is no typical work
		if words > recodeWords {
			break
		}
		ref := list[i]
		payload, err := ref.File.readPayload(&ref.File.sections[ref.Section], nil)
		if err != nil {
			b.Fatal(err)
		}
		var h FrameHeader
		at, err := h.decode(payload)
		if err != nil {
			b.Fatal(err)
		}
		if err := dec.Start(payload[at:], h.Encoding); err != nil {
			b.Fatal(err)
		}
		var chunks [][]uint64
		var chunk []uint64
		for {
			batch, err := dec.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			chunk = append(chunk, batch...)
			words += len(batch)
			if len(chunk) > recodeChunk {
				chunks, chunk = append(chunks, chunk), nil
			}
		}
		frames = append(frames, append(chunks, chunk))
	}
	return frames
}
