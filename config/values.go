package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxOrdinal bounds process and thread numbers, indices and signal numbers:
// they are ints in the model on every platform.
const maxOrdinal = math.MaxInt32

// spelling is what a value of each kind looks like, for messages, help and
// schema. pattern is an XSD regular expression, which is a Go one too; a test
// holds it against the parsing functions.
type spelling struct {
	right   string
	pattern string
}

const (
	numberPattern   = `[0-9]+|0[xX][0-9a-fA-F]+`
	positivePattern = `0*[1-9][0-9]*|0[xX]0*[1-9a-fA-F][0-9a-fA-F]*`
)

// spellings is indexed by valueKind; those that are a list of words or free
// text have no pattern.
var spellings = [...]spelling{
	textValue:      {right: "some text"},
	boolValue:      {right: "true, false, 1 or 0"},
	ordinalValue:   {"a number such as 2 or 0x2", numberPattern},
	ordinal1Value:  {"a number from 1, such as 2 or 0x2", positivePattern},
	numberValue:    {"a number such as 4096 or 0x1000", numberPattern},
	signedValue:    {"a number such as 0, 0xff or -1", `-?([0-9]+|0[xX][0-9a-fA-F]+)`},
	countValue:     {"a count such as 1000, 0x3e8, 250k, 5M or 1G", numberPattern + `|[0-9]+[kMG]`},
	count1Value:    {"a count from 1, such as 1000, 0x3e8, 250k, 5M or 1G", positivePattern + `|0*[1-9][0-9]*[kMG]`},
	timeValue:      {"a time above 0, such as 250 (milliseconds), 500us, 250ms or 2s", positivePattern + `|0*[1-9][0-9]*(us|ms|s)`},
	sampleValue:    {"1/N, such as 1/100", `1/(0*[1-9][0-9]*[kMG]?)`},
	rateValue:      {rateRight, ratePattern},
	depthValue:     {"a number of generations such as 2, or a range such as 1..3", `[0-9]+(\.\.[0-9]+)?`},
	registersValue: {right: "register names separated by commas, such as rax,rdi,xmm0"},
	enumValue:      {},
}

// right says what a value of the attribute would look like.
func (a *attribute) right() string {
	if a.kind == enumValue {
		return strings.Join(a.values, " or ")
	}
	return spellings[a.kind].right
}

// trim removes the white space that XML schema's collapsing would: old files
// hold numbers and booleans that a line break crept into. Texts stay as they are.
func trim(v string) string { return strings.Trim(v, " \t\r\n") }

// parseBool reads the four spellings of a boolean.
func parseBool(v string) (val, ok bool) {
	switch trim(v) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

// number is the outcome of reading a number: big says that the spelling is
// right but the value is beyond what can be held, which no schema can tell.
type number struct {
	val uint64
	ok  bool
	big bool
}

// parseNumber reads decimal or 0x… digits. Not strconv's base 0, which would
// take octal, binary and underscores.
func parseNumber(v string) number {
	base, digits := 10, v
	if len(v) > 2 && v[0] == '0' && (v[1] == 'x' || v[1] == 'X') {
		base, digits = 16, v[2:]
	}
	if digits == "" || digits[0] == '+' || digits[0] == '-' {
		return number{}
	}
	// ParseUint refuses signs and, with a base, underscores; the sign check above
	// is for the day when it doesn't.
	n, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return number{big: isRange(err)}
	}
	return number{val: n, ok: true}
}

// isRange tells overflow from misspelling: the digits were right, there were too
// many.
func isRange(err error) bool {
	ne, ok := err.(*strconv.NumError)
	return ok && ne.Err == strconv.ErrRange
}

// scaled reads a decimal number with one of the units, or a plain number in
// unit plain. Units on hexadecimal numbers are refused: 0x10M would read as
// well as a typing error.
func scaled(v string, units []unit, plain uint64) number {
	// The plain unit first: Time without a suffix is in milliseconds, counts in ones.
	scale := plain
	for _, u := range units {
		if digits, ok := strings.CutSuffix(v, u.suffix); ok && digits != "" && !strings.ContainsAny(digits, "xX") {
			v, scale = digits, u.scale
			break
		}
	}
	n := parseNumber(v)
	// Before multiplying: wrapped around, 18446744073709552k would be a small number.
	if n.ok && n.val > math.MaxUint64/scale {
		return number{big: true}
	}
	n.val *= scale
	return n
}

type unit struct {
	suffix string
	scale  uint64
}

// parseCount reads a count. The suffixes are powers of ten, as everybody counts
// instructions; bytes are counted the same way, so that one letter never means
// two numbers in one file.
func parseCount(v string) number {
	return scaled(trim(v), []unit{{"k", 1e3}, {"M", 1e6}, {"G", 1e9}}, 1)
}

// parseTime reads nanoseconds; milliseconds are meant where no unit is given.
func parseTime(v string) number {
	n := scaled(trim(v), []unit{{"us", uint64(time.Microsecond)}, {"ms", uint64(time.Millisecond)}, {"s", uint64(time.Second)}},
		uint64(time.Millisecond))
	if n.ok && n.val > math.MaxInt64 {
		return number{big: true} // the model holds a time.Duration
	}
	return n
}

// parseSample reads 1/N and returns N.
func parseSample(v string) number {
	rest, ok := strings.CutPrefix(trim(v), "1/")
	if !ok || rest == "" || strings.ContainsAny(rest, "xX \t\r\n") {
		return number{}
	}
	n := parseCount(rest)
	if n.ok && n.val > maxOrdinal {
		return number{big: true}
	}
	if n.val == 0 {
		n.ok = false
	}
	return n
}

// parseDepth reads a generation or a range of them. That a range goes upwards is not
// looked at here: the spelling is right.
func parseDepth(v string) (span Depth, n number) {
	from, to, found := strings.Cut(trim(v), "..")
	if !found {
		to = from
	}
	for i, text := range []string{from, to} {
		if strings.ContainsAny(text, "xX") { // no hexadecimal numbers: nobody counts generations so
			return Depth{}, number{}
		}
		if n = parseNumber(text); !n.ok || n.val > maxOrdinal {
			return Depth{}, number{big: n.big || n.ok}
		}
		*[...]*int{&span.From, &span.To}[i] = int(n.val)
	}
	span.Given = true
	return span, n
}

// parseSigned reads a number with an optional minus as a two's complement.
func parseSigned(v string) (val uint64, negative bool, n number) {
	v = trim(v)
	digits, negative := strings.CutPrefix(v, "-")
	n = parseNumber(digits)
	// -2^63 is the lowest that 64 bits hold.
	if negative {
		if n.ok && n.val > 1<<63 {
			return 0, true, number{big: true}
		}
		return -n.val, n.val != 0, n
	}
	return n.val, false, n
}

// splitRegisters reads a list of register names.
func splitRegisters(v string) []string {
	// Commas and not spaces: an attribute's line breaks become spaces, and a list of
	// registers is long enough to be broken.
	parts := strings.Split(trim(v), ",")
	for i := range parts {
		parts[i] = trim(parts[i])
	}
	return parts
}

// checkValue reports a value that is not spelled as its kind demands.
func checkValue(f *faults, spec *attribute, a *attr) {
	// A list has as many faults as it has entries, and more to say than right or wrong.
	if spec.kind == registersValue {
		checkRegisters(f, a)
		return
	}
	n := spec.parse(a.value)
	// The kinds that begin at 1 treat 0 as a misspelling, as their patterns in
	// the schema do.
	if (spec.kind == ordinal1Value || spec.kind == count1Value || spec.kind == timeValue) && n.val == 0 {
		n.ok = false
	}
	switch {
	case n.ok:
	case n.big:
		f.rule(a.Pos, fmt.Sprintf("%s=%q is too large", a.name, short(a.value)), "it must "+limitOf(spec.kind))
	case spec.kind == textValue:
		f.shape(a.Pos, fmt.Sprintf("%s is empty", a.name), "give a text, or leave the attribute out")
	default:
		f.shape(a.Pos, fmt.Sprintf("%s=%q is not understood", a.name, short(a.value)), "it takes "+spec.right())
	}
}

// parse reads a value of any kind but registers. Of kinds that are no numbers, only ok means
// something.
func (spec *attribute) parse(value string) (n number) {
	switch spec.kind {
	case textValue:
		n.ok = value != ""
	case boolValue:
		_, n.ok = parseBool(value)
	case enumValue:
		n.ok = slices.Contains(spec.values, trim(value))
	case ordinalValue, ordinal1Value:
		n = parseNumber(trim(value))
		if n.ok && n.val > maxOrdinal {
			n = number{big: true}
		}
	case numberValue:
		n = parseNumber(trim(value))
	case signedValue:
		_, _, n = parseSigned(value)
	case countValue, count1Value:
		n = parseCount(value)
	case timeValue:
		n = parseTime(value)
	case sampleValue:
		n = parseSample(value)
	case rateValue:
		_, n = parseRate(value)
	case depthValue:
		_, n = parseDepth(value)
	}
	return n
}

// limitOf words the bound of a kind.
func limitOf(k valueKind) string {
	switch k {
	case ordinalValue, ordinal1Value, sampleValue, depthValue:
		return fmt.Sprintf("be below %d", maxOrdinal+1)
	case timeValue:
		return "be below 292 years"
	case rateValue:
		return "be at most 1, or 100 %"
	}
	return "fit into 64 bits"
}

// short keeps a strange value from flooding a message.
func short(v string) string {
	if r := []rune(v); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return v
}
