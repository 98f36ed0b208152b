package acceptance

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// TestRacingValues checks that recorded values are what the instructions obtained
// and stored, while several threads write the same words: atomic increments have
// seen each number once, and the sums of what was read are the program's own. Values
// from a second look at the memory would fail both.
func TestRacingValues(t *testing.T) {
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/race.c", "-O1 -static -pthread")
	writeConfig(t, dir, `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image main="true">`+
		`<Function name="race"><Instruction cat="any" accessAddressAndSize="true" accessValue="true"/></Function>`+
		`<Function name="reads"><Instruction cat="any" accessAddressAndSize="true" accessValue="true"/></Function>`+
		`</Image></Thread></Process></Profile></Window></AlleriaConfig>`)
	r := run(t, command{argv: []string{alleria(), "-q", "record", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir})
	var xadd, inc, adc, pair uint64
	var sum, low int64
	if _, err := fmt.Sscanf(string(r.stdout), "%x %x %x %x %d %d", &xadd, &inc, &adc, &pair, &sum, &low); err != nil || r.status != 0 {
		t.Fatalf("status %d, output %q: %v\n%s", r.status, clip(r.stdout), err, clip(r.stderr))
	}
	d := run(t, command{argv: []string{alleria(), "dump", profileDir}, dir: dir})
	if d.status != 0 {
		t.Fatalf("dump: %s", clip(d.stderr))
	}
	loads, stores := valuesAt(t, d.stdout)
	const times = 40000 // of two threads
	for name, at := range map[string]uint64{"lock xadd": xadd, "lock inc": inc, "lock adc": adc} {
		permutation(t, name+" loads", loads[at], 0, times)
		permutation(t, name+" stores", stores[at], 1, times)
	}
	var got, gotLow int64
	for _, v := range loads[inc+reading] {
		got += int64(v)
	}
	for _, v := range loads[pair+reading] {
		gotLow += int64(v)
	}
	if sum == 0 || low == 0 {
		t.Error("nobody raced: the sums are 0")
	}
	if got != sum || gotLow != low {
		t.Errorf("what was read adds up to %d and %d; in the program %d and %d", got, gotLow, sum, low)
	}
}

// reading is added to the address of what function reads has loaded.
const reading = 1 << 60

// valuesAt returns the values of loads and stores by address, of the first eight
// bytes, from a dump.
func valuesAt(t *testing.T, dump []byte) (loads, stores map[uint64][]uint64) {
	t.Helper()
	loads, stores = make(map[uint64][]uint64), make(map[uint64][]uint64)
	place := uint64(0)
	sc := bufio.NewScanner(bytes.NewReader(dump))
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 3 || f[0] != "load" && f[0] != "store" {
			place = 0
			if strings.Contains(sc.Text(), " reads") {
				place = reading
			}
			continue
		}
		if len(f) < 5 {
			t.Fatalf("no value: %s", sc.Text())
		}
		at, err := strconv.ParseUint(f[1], 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		v, err := valueOf(f[4])
		if err != nil {
			t.Fatal(err)
		}
		into := loads
		if f[0] == "store" {
			into = stores
		}
		into[at+place] = append(into[at+place], v)
	}
	return loads, stores
}

// valueOf reads a value of a dump: a number with its 0x, or the bytes of a vector in
// the order of memory, of which it returns the first eight. Bytes are told by their
// number, not by a parser that fails: 0b10… is a binary number as well.
func valueOf(s string) (uint64, error) {
	if len(s) != 2*16 {
		return strconv.ParseUint(s, 0, 64)
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// permutation checks that the values are the n numbers from first on, each once.
func permutation(t *testing.T, what string, values []uint64, first, n uint64) {
	t.Helper()
	if uint64(len(values)) != n {
		t.Errorf("%s: %d values, not %d", what, len(values), n)
	}
	seen := make([]bool, n)
	for _, v := range values {
		if v-first >= n || seen[v-first] {
			t.Errorf("%s: %d is no number from %d on, or twice there", what, v, first)
			return
		}
		seen[v-first] = true
	}
}
