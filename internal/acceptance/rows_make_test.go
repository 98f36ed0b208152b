package acceptance

import (
	"fmt"
	"path/filepath"
)

// rowMaker makes what the cases of rows are made of, for a trace of the fixture.
type rowMaker struct{ *oracleTrace }

// fn is the function of a name.
func (m rowMaker) fn(name string) *oracleSymbol {
	for _, s := range m.images[0].symbols {
		if s.plain == name {
			return s
		}
	}
	return m.images[0].named(name)[0]
}

func (m rowMaker) call(name, attrs string, times int) *oracleEvent {
	return m.calls(m.fn(name), name, attrs, times)
}

func (m rowMaker) ret(name, attrs string, times int) *oracleEvent {
	return m.returns(m.fn(name), name, attrs, times)
}

// at is an address within a function.
func (m rowMaker) at(name string, offset uint64) uint64 { return m.fn(name).value + offset }

// address is the arrival at one.
func (m rowMaker) address(name string, offset uint64, times int) *oracleEvent {
	at := m.at(name, offset)
	return m.arrives(at, fmt.Sprintf(` value="%#x"`, at), times)
}

// path and base name the program, as attributes.
func (m rowMaker) path(attribute string) string { return fmt.Sprintf(` %s="%s"`, attribute, m.prog) }

func (m rowMaker) base(attribute string) string {
	return fmt.Sprintf(` %s="%s"`, attribute, filepath.Base(m.prog))
}

// on, till and between are windows on all code with all accesses.
func on(make func(m rowMaker) *oracleEvent) func(rowMaker) []*oracleWindow {
	return func(m rowMaker) []*oracleWindow { return []*oracleWindow{{on: make(m), threads: ofAll()}} }
}

func till(make func(m rowMaker) *oracleEvent) func(rowMaker) []*oracleWindow {
	return func(m rowMaker) []*oracleWindow { return []*oracleWindow{{till: make(m), threads: ofAll()}} }
}

func between(reopens bool, make func(m rowMaker) (on, till *oracleEvent)) func(rowMaker) []*oracleWindow {
	return func(m rowMaker) []*oracleWindow {
		w := &oracleWindow{reopens: reopens, threads: ofAll()}
		w.on, w.till = make(m)
		return []*oracleWindow{w}
	}
}

// ofAll selects every instruction with its accesses.
func ofAll() []oracleThread {
	return []oracleThread{{images: []oracleSelected{image("", "", function("", whatever("accessAddressAndSize")))}}}
}

func image(by, value string, functions ...oracleFunction) oracleSelected {
	return oracleSelected{by: by, value: value, functions: functions}
}

func function(name string, instructions ...oracleInstruction) oracleFunction {
	return oracleFunction{name: name, instructions: instructions}
}

func decorated(name string, instructions ...oracleInstruction) oracleFunction {
	return oracleFunction{name: name, decorated: true, instructions: instructions}
}

func instruction(by, value string, fields ...string) oracleInstruction {
	return oracleInstruction{by: by, value: value, fields: fields}
}

func whatever(fields ...string) oracleInstruction { return instruction("cat", "any", fields...) }

// open is a window that is open from the first instruction to the end, with a selection
// of images.
func open(images ...oracleSelected) func(rowMaker) []*oracleWindow {
	return func(rowMaker) []*oracleWindow {
		return []*oracleWindow{{threads: []oracleThread{{images: images}}}}
	}
}

// named is one with a selection of functions.
func named(functions ...oracleFunction) func(rowMaker) []*oracleWindow {
	return open(image("main", "true", functions...))
}

// kinds is one with a selection of instructions of the function values.
func kinds(instructions ...oracleInstruction) func(rowMaker) []*oracleWindow {
	return named(function("values", instructions...))
}
