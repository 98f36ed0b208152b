package interceptors

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"alleria/abp/calls"
	"alleria/config"
	"alleria/internal/capture"
)

// Changing the values of calls, for finding faults. What may be changed is decided when a function is armed; whether it is, is drawn for each
// call from a sequence that the seed and the function's name begin, so that the same run changes the same calls.

// Changes is what is to be changed of a function's calls.
type Changes struct {
	Name string // the function's: chance depends on it, and how errors are returned
	Seed uint64
	// Result, if not nil, changes the result; Fail, if not 0, is the error with which calls return at once.
	Result          *config.Change
	Fail            uint32
	FailProbability config.Rate
	// Errno is where a thread's error number is, given the base of fs; 0: nobody knows.
	Errno func(base uint64, m io.ReaderAt) uint64
}

// valueChange is a value that may be changed at one moment.
type valueChange struct {
	set   *config.Change
	param int32
	typ   *calls.Type // of the value, or of the elements that its pointer leads to
	src   capture.Source
	item  *capture.Item // of contents; nil: the value itself is meant
	bytes int
	bits  []uint64 // of the constants
}

// failure is how a function fails.
type failure struct {
	errno  uint32
	rate   config.Rate
	result uint64
	direct bool // the result is the error number
	where  func(base uint64, m io.ReaderAt) uint64
}

// alterer changes the calls of one function. The engine calls it on one goroutine.
type alterer struct {
	rng         *rand.Rand
	entry, exit []valueChange
	fail        *failure
}

// alter has the calls changed, if they are to be.
func (b *build) alter() error {
	if b.p.Changes == nil {
		return nil
	}
	a, err := b.alterer(b.p.Changes)
	if err == nil {
		b.out.Program.Alter = a.alter
	}
	return err
}

// alterer makes what changes calls.
func (b *build) alterer(ch *Changes) (*alterer, error) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(ch.Name)) // it never fails
	a := &alterer{rng: rand.New(rand.NewPCG(max(ch.Seed, config.DefaultSeed), h.Sum64()))}
	for i, w := range b.p.Captures {
		if w.Set == nil {
			continue
		}
		for _, m := range []struct {
			on    bool
			items map[int]int
			from  []capture.Item
			to    *[]valueChange
		}{{w.In, b.entryItems, b.out.Program.Entry, &a.entry}, {w.Out, b.exitItems, b.out.Program.Exit, &a.exit}} {
			if !m.on || m.to == &a.exit && b.c.Table.Type(w.Type).Kind != calls.Pointer {
				continue
			}
			v, err := b.valueChange(w.Set, int32(i), w.Type, b.places[w.Index])
			if err == nil {
				err = b.contents(v, w.Type, m.from, m.items[i])
			}
			if err != nil {
				return nil, fmt.Errorf("%s: parameter %d: %w", w.Set.Pos, w.Index, err)
			}
			if v.item != nil || m.to == &a.entry {
				*m.to = append(*m.to, *v)
			}
		}
	}
	if ch.Result != nil {
		if b.p.Result == 0 {
			return nil, fmt.Errorf("%s: the type of the result is not known, give it as retType: %w", ch.Result.Pos, ErrUnfit)
		}
		v, err := b.valueChange(ch.Result, calls.ResultParam, b.p.Result, b.result)
		if err != nil {
			return nil, fmt.Errorf("%s: result: %w", ch.Result.Pos, err)
		}
		a.exit = append(a.exit, *v)
	}
	if ch.Fail != 0 {
		f, err := b.failure(ch)
		if err != nil {
			return nil, err
		}
		a.fail = f
	}
	return a, nil
}

// valueChange is the change of a value in a place.
func (b *build) valueChange(set *config.Change, param int32, t calls.TypeID, pl place) (*valueChange, error) {
	ty := b.c.Table.Type(t)
	if t == 0 {
		ty = &calls.Type{Kind: calls.Unsigned, Size: 8}
	}
	if pl.hidden || len(pl.pieces) != 1 || ty.Size == 0 || ty.Size > 8 || !isScalar(ty) && ty.Kind != calls.Pointer {
		return nil, fmt.Errorf("a value of type %s cannot be changed: %w", ty.Name, ErrUnfit)
	}
	v := &valueChange{set: set, param: param, typ: ty, src: pl.pieces[0].src, bytes: int(ty.Size)}
	for _, text := range set.Values {
		x, err := config.Constant(text, constantKind(ty), int(ty.Size))
		if err != nil {
			return nil, fmt.Errorf("set to %s: %w: %w", text, err, ErrUnfit)
		}
		v.bits = append(v.bits, x)
	}
	return v, nil
}

// isScalar tells types that are one number, whose constants can be written.
func isScalar(t *calls.Type) bool {
	return !t.IsDecimal() && slices.Contains([]calls.Kind{calls.Unsigned, calls.Signed, calls.Char, calls.Char16, calls.Char32, calls.Float, calls.Bool, calls.Address, calls.Enum}, t.Kind)
}

// constantKind is how constants of a type are spelt.
func constantKind(t *calls.Type) config.ConstantKind {
	switch t.Kind {
	case calls.Signed, calls.Enum:
		return config.SignedConstant
	case calls.Float:
		return config.FloatConstant
	case calls.Bool:
		return config.BoolConstant
	case calls.Address, calls.Pointer:
		return config.AddressConstant
	}
	return config.UnsignedConstant
}

// contents has what a pointer leads to changed, where a mutation is asked for.
func (b *build) contents(v *valueChange, t calls.TypeID, items []capture.Item, at int) error {
	ty := b.c.Table.Type(t)
	if ty.Kind != calls.Pointer || v.set.Kind == config.ChangeTo {
		return nil
	}
	item := items[at]
	if len(item.Points) == 0 || item.Points[0].Target.Dec || item.Points[0].Target.Len.Kind == capture.Start {
		return fmt.Errorf("what %s leads to cannot be changed: only elements behind a pointer can: %w", ty.Name, ErrUnfit)
	}
	target := *item.Points[0].Target
	target.Points = nil
	item.Points = []capture.Pointer{{Off: item.Points[0].Off, Target: &target}}
	v.item = &item
	v.typ = b.c.Table.Type(ty.Elem)
	v.bytes = int(v.typ.Size)
	if !isScalar(v.typ) || v.bytes > 8 {
		v.typ, v.bytes = &calls.Type{Kind: calls.Unsigned, Size: 1}, 1 // of records, their bytes
	}
	return nil
}

// failure is how a function of the C library says that it has failed.
func (b *build) failure(ch *Changes) (*failure, error) {
	f := &failure{errno: ch.Fail, rate: ch.FailProbability, where: ch.Errno}
	ty := b.c.Table.Type(b.p.Result)
	switch {
	case b.p.Result == 0:
		return nil, fmt.Errorf("what %s returns is not known, so that it cannot be made to fail: give its retType: %w", ch.Name, ErrUnfit)
	case strings.HasPrefix(ch.Name, "pthread_") || strings.HasPrefix(ch.Name, "posix_") && ch.Name != "posix_openpt":
		f.result, f.direct = uint64(ch.Fail), true
	case slices.Contains([]string{"mmap", "mmap64", "mremap", "sbrk", "shmat"}, ch.Name), ty.Kind == calls.Signed, ty.Kind == calls.Enum:
		f.result = math.MaxUint64
	case ty.Kind == calls.Pointer, ty.Kind == calls.Address, ty.Kind == calls.Unsigned, ty.Kind == calls.Bool:
	default:
		return nil, fmt.Errorf("%s returns %s, which tells of no failure: %w", ch.Name, ty.Name, ErrUnfit)
	}
	if b.result.hidden || len(b.result.pieces) != 1 || b.result.pieces[0].src != (capture.Source{Kind: capture.GPR, N: rax}) {
		return nil, fmt.Errorf("%s cannot be made to fail: its result is in no general register: %w", ch.Name, ErrUnfit)
	}
	return f, nil
}

// happens draws whether something happens.
func (a *alterer) happens(r config.Rate) bool { return r.All() || a.rng.Float64() < r.Part }

// alter is capture.Program.Alter.
func (a *alterer) alter(m capture.Moment) *capture.Alteration {
	list := a.exit
	if m == capture.Entered {
		list = a.entry
		if a.fail != nil && a.happens(a.fail.rate) {
			return &capture.Alteration{Leave: true, Do: a.fail.do}
		}
	}
	var chosen []*valueChange
	for i := range list {
		if a.happens(list[i].set.Probability) {
			chosen = append(chosen, &list[i])
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	return &capture.Alteration{Do: func(m capture.Alterable) (out []capture.Changed) {
		for _, v := range chosen {
			if c, ok := a.change(v, m); ok {
				out = append(out, c)
			}
		}
		return out
	}}
}

// do makes a call fail.
func (f *failure) do(m capture.Alterable) []capture.Changed {
	c := capture.Changed{Param: calls.ResultParam, How: capture.Failed, Bytes: 4, New: uint64(f.errno)}
	m.Set(capture.Source{Kind: capture.GPR, N: rax}, binary.LittleEndian.AppendUint64(nil, f.result))
	if !f.direct && f.where != nil {
		if at := f.where(m.ThreadBase(), m); at != 0 {
			var b [4]byte
			if n, _ := m.ReadAt(b[:], int64(at)); n == 4 {
				c.Old = uint64(binary.LittleEndian.Uint32(b[:]))
			}
			m.WriteAt(binary.LittleEndian.AppendUint32(nil, f.errno), at)
		}
	}
	return []capture.Changed{c}
}

// change changes one value; false: it is as it was.
func (a *alterer) change(v *valueChange, m capture.Alterable) (capture.Changed, bool) {
	if v.item != nil {
		return a.changeContents(v, m)
	}
	b := make([]byte, 8)
	if !m.Value(v.src, b[:v.bytes]) {
		return capture.Changed{}, false
	}
	c := capture.Changed{Param: v.param, Bytes: uint8(v.bytes), Old: binary.LittleEndian.Uint64(b)}
	c.New = a.mutate(v, c.Old)
	binary.LittleEndian.PutUint64(b, c.New)
	n := v.bytes
	if v.src.Kind == capture.GPR { // as a compiler would have loaded it
		binary.LittleEndian.PutUint64(b, widened(v.typ, c.New))
		n = 8
	}
	return c, c.New != c.Old && m.Set(v.src, b[:n])
}

// widened is a value as it fills a register: small integers are extended to four bytes.
func widened(t *calls.Type, x uint64) uint64 {
	if t.Size < 4 && t.Kind == calls.Signed {
		shift := 64 - 8*t.Size
		return uint64(uint32(int64(x<<shift) >> shift))
	}
	return x
}

// changeContents changes an element of what a pointer leads to.
func (a *alterer) changeContents(v *valueChange, m capture.Alterable) (capture.Changed, bool) {
	words, _ := capture.Run(m, []capture.Item{*v.item}, config.DefaultPointerBytes, nil)
	if len(words) < 3 {
		return capture.Changed{}, false
	}
	target := v.item.Points[0].Target
	status, n := capture.SplitPart(words[1])
	if target.Len.Kind == capture.Sentinel && status == capture.Whole {
		n -= int(target.Size) // the sentinel stays
	}
	if n < v.bytes || n > 8*len(words[2:]) {
		return capture.Changed{}, false
	}
	var data []byte
	for _, w := range words[2:] {
		data = binary.LittleEndian.AppendUint64(data, w)
	}
	at := a.rng.IntN(n/v.bytes) * v.bytes
	b := make([]byte, 8)
	copy(b, data[at:at+v.bytes])
	c := capture.Changed{Param: v.param, How: capture.Contents, Bytes: uint8(v.bytes), Offset: uint64(at), Old: binary.LittleEndian.Uint64(b)}
	c.New = a.mutate(v, c.Old)
	binary.LittleEndian.PutUint64(b, c.New)
	return c, c.New != c.Old && m.WriteAt(b[:v.bytes], words[0]+uint64(at))
}

// mutate is what becomes of a value.
func (a *alterer) mutate(v *valueChange, old uint64) uint64 {
	mask := uint64(math.MaxUint64) >> (64 - 8*v.bytes)
	switch {
	case v.set.Kind == config.ChangeTo:
		return v.bits[a.rng.IntN(len(v.bits))] & mask
	case v.typ.Kind == calls.Bool && v.set.Kind == config.ChangeBitflip:
		return old&mask ^ 1
	case v.typ.Kind == calls.Bool:
		return a.rng.Uint64() & 1
	case v.set.Kind == config.ChangeBitflip:
		return old ^ 1<<a.rng.IntN(8*v.bytes)
	case v.set.Kind == config.ChangeBoundary:
		edges := boundaries(v.typ, v.bytes)
		return edges[a.rng.IntN(len(edges))] & mask
	}
	return a.rng.Uint64() & mask
}

// boundaries are the values at the edges of a type.
func boundaries(t *calls.Type, bytes int) []uint64 {
	if t.Kind == calls.Float {
		if bytes == 4 {
			return []uint64{0, 1 << 31, 1, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000}
		}
		return []uint64{0, 1 << 63, 1, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000}
	}
	top := uint64(1) << (8*bytes - 1)
	return []uint64{0, 1, math.MaxUint64, top - 1, top}
}
