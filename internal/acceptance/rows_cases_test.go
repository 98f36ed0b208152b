package acceptance

import "slices"

// rowCases are the cases of all rows.
func rowCases() []rowCase {
	return slices.Concat(combinedRows(), functionRows(), placeRows(), countedRows(), kernelRows(), windowRows(), imageRows(), functionSelectionRows(),
		instructionRows(), fieldRows())
}

func combinedRows() []rowCase {
	return []rowCase{
		{"All", on(func(m rowMaker) *oracleEvent {
			return all(m.ret("inner", "", 3), m.call("leaf", "", 2), m.signals(` number="11"`, 0x48))
		}), 1, 0},
		{"All/never", on(func(m rowMaker) *oracleEvent { return all(m.call("inner2", "", 2), m.call("leaf", "", 0)) }), 0, 0},
		{"One", till(func(m rowMaker) *oracleEvent { return oneOf(m.call("inner2", "", 0), m.ret("inner", "", 2)) }), 1, 0},
		{"All/nested", between(true, func(m rowMaker) (on, till *oracleEvent) {
			return all(oneOf(m.call("leaf", "", 4), m.call("inner2", "", 0)), oneOf(m.ret("recurse", "", 0), all(m.call("vary", "", 0)))),
				oneOf(all(m.call("inner", "", 0), m.ret("inner", "", 2)), m.call("leaf_alias", "", 5))
		}), 2, 22},
		{"All/reopened", between(true, func(m rowMaker) (on, till *oracleEvent) {
			return all(m.call("leaf", "", 0), m.ret("leaf", "", 0)), m.call("leaf", "", 0)
		}), 4, 0},
	}
}

func functionRows() []rowCase {
	call := func(name, attrs string, times int) func(rowMaker) []*oracleWindow {
		return on(func(m rowMaker) *oracleEvent { return m.call(name, attrs, times) })
	}
	ret := func(name, attrs string, times int) func(rowMaker) []*oracleWindow {
		return on(func(m rowMaker) *oracleEvent { return m.ret(name, attrs, times) })
	}
	return []rowCase{
		{"Call/name", call("recurse", "", 0), 1, 0},
		{"Call/name/second", call("leaf_alias", "", 8), 1, 0},
		{"Call/name/demangled", call("ns::Class::method", "", 0), 1, 0},
		{"Call/name/as-linked", call("_ZN2ns5Class6methodEi", "", 0), 1, 0},
		{"Call/decorated", call("_ZN2ns5Class6methodEi", ` decorated="true"`, 0), 1, 0},
		{"Call/imageName", on(func(m rowMaker) *oracleEvent { return m.call("leaf", m.base("imageName"), 3) }), 1, 0},
		{"Call/imagePath", on(func(m rowMaker) *oracleEvent { return m.call("leaf", m.path("imagePath"), 3) }), 1, 0},
		{"Call/process", call("inner", ` process="1"`, 2), 1, 0},
		{"Call/thread", call("inner", ` thread="1"`, 0), 1, 0},
		{"Call/threshold", call("leaf", "", 8), 1, 0},
		{"Call/threshold/too-high", call("leaf", "", 9), 0, 0},
		{"Call/closes", till(func(m rowMaker) *oracleEvent { return m.call("leaf", "", 5) }), 1, 0},
		{"Call/recursion", call("recurse", "", 4), 1, 0},
		{"Call/tail", between(false, func(m rowMaker) (on, till *oracleEvent) { return m.call("outer", "", 0), m.call("leaf", "", 0) }), 1, 18},
		{"Call/part", call("vary", "", 2), 1, 0},
		{"Call/part/too-many", call("vary", "", 3), 0, 0},
		{"Call/string", call("fill", "", 0), 1, 0},
		{"Call/string/too-many", call("fill", "", 2), 0, 0},
		{"Call/within", call("spin", "", 2), 1, 0},
		{"Call/within/too-many", call("spin", "", 3), 0, 0},
		{"Call/within/address", on(func(m rowMaker) *oracleEvent { return all(m.call("spin", "", 2), m.address("spin", 0, 5)) }), 1, 0},
		{"Call/within/address/too-many", on(func(m rowMaker) *oracleEvent { return all(m.call("spin", "", 2), m.address("spin", 0, 7)) }), 0, 0},
		{"Return/name", ret("inner", "", 0), 1, 0},
		{"Return/name/demangled", ret("ns::Class::method", "", 0), 1, 0},
		{"Return/decorated", ret("_ZN2ns5Class6methodEi", ` decorated="true"`, 0), 1, 0},
		{"Return/imageName", on(func(m rowMaker) *oracleEvent { return m.ret("leaf", m.base("imageName"), 3) }), 1, 0},
		{"Return/imagePath", on(func(m rowMaker) *oracleEvent { return m.ret("leaf", m.path("imagePath"), 3) }), 1, 0},
		{"Return/process", ret("inner", ` process="1"`, 2), 1, 0},
		{"Return/thread", ret("inner", ` thread="1"`, 0), 1, 0},
		{"Return/threshold", ret("leaf", "", 8), 1, 0},
		{"Return/threshold/too-high", ret("leaf", "", 9), 0, 0},
		{"Return/recursion", between(false, func(m rowMaker) (on, till *oracleEvent) { return m.call("recurse", "", 0), m.ret("recurse", "", 0) }), 1, 13},
		{"Return/recursion/all", between(false, func(m rowMaker) (on, till *oracleEvent) { return m.call("recurse", "", 0), m.ret("recurse", "", 4) }), 1, 19},
		{"Return/tail", between(false, func(m rowMaker) (on, till *oracleEvent) { return m.call("outer", "", 0), m.ret("outer", "", 0) }), 1, 22},
		{"Return/entered-before", between(false, func(m rowMaker) (on, till *oracleEvent) { return m.address("outer", 5, 0), m.ret("outer", "", 0) }), 1, 17},
		{"Return/no-return-address", ret("_start", "", 0), 0, 0},
		{"Return/within", ret("spin", "", 2), 1, 0},
		{"Return/within/too-many", ret("spin", "", 3), 0, 0},
	}
}

func placeRows() []rowCase {
	return []rowCase{
		{"Address/value", on(func(m rowMaker) *oracleEvent { return m.address("outer", 5, 0) }), 1, 0},
		{"Address/offset", on(func(m rowMaker) *oracleEvent {
			at := m.at("leaf", 7)
			return m.arrives(at, m.base("image")+attributeUnless("offset", at, 0), 0)
		}), 1, 0},
		{"Address/threshold", on(func(m rowMaker) *oracleEvent { return m.address("leaf", 11, 8) }), 1, 0},
		{"Address/closes", till(func(m rowMaker) *oracleEvent { return m.address("leaf", 18, 6) }), 1, 0},
		{"Address/within", on(func(m rowMaker) *oracleEvent { return m.address("spin", 0, 5) }), 1, 0},
		{"Load/name", on(func(m rowMaker) *oracleEvent { return m.begins("Load" + m.base("name")) }), 1, 274},
		{"Load/path", on(func(m rowMaker) *oracleEvent { return m.begins("Load" + m.path("path")) }), 1, 274},
		{"Load/process", on(func(m rowMaker) *oracleEvent { return m.begins("Load" + m.base("name") + ` process="1"`) }), 1, 274},
		{"Creation/process", on(func(m rowMaker) *oracleEvent { return m.begins(`Creation process="1"`) }), 1, 274},
		{"Creation/thread", on(func(m rowMaker) *oracleEvent { return m.begins(`Creation process="1" thread="1"`) }), 1, 274},
		{"Threads/largerEqual", on(func(m rowMaker) *oracleEvent { return m.begins(`Threads largerEqual="1"`) }), 1, 274},
		{"Threads/smallerEqual", on(func(m rowMaker) *oracleEvent { return m.begins(`Threads smallerEqual="1" process="1"`) }), 1, 274},
	}
}

func countedRows() []rowCase {
	executed := func(n int, attrs string) func(rowMaker) []*oracleWindow {
		return on(func(m rowMaker) *oracleEvent { return m.instructions(n, attrs) })
	}
	accessed := func(total, reads, writes int, attrs string) func(rowMaker) []*oracleWindow {
		return on(func(m rowMaker) *oracleEvent { return m.accesses(total, reads, writes, attrs) })
	}
	return []rowCase{
		{"Instructions/threshold", executed(100, ""), 1, 174},
		{"Instructions/threshold/first", executed(1, ""), 1, 273},
		{"Instructions/threshold/last", executed(273, ""), 1, 1},
		{"Instructions/closes", till(func(m rowMaker) *oracleEvent { return m.instructions(77, "") }), 1, 77},
		{"Instructions/process", executed(150, ` process="1"`), 1, 124},
		{"Instructions/thread", executed(151, ` thread="1"`), 1, 123},
		{"Instructions/thread/other", on(func(m rowMaker) *oracleEvent {
			return m.counts(`Instructions threshold="151"`, ` thread="2"`, func(done) bool { return false })
		}), 0, 0},
		{"Instructions/anyThread", executed(152, ` anyThread="true"`), 1, 122},
		{"Instructions/since", between(true, func(m rowMaker) (on, till *oracleEvent) {
			return m.call("leaf", "", 2), m.instructions(3, ` since="open"`)
		}), 4, 12},
		{"Instructions/reopened", between(true, func(m rowMaker) (on, till *oracleEvent) { return m.instructions(60, ""), m.call("leaf", "", 0) }), 4, 0},
		{"Accesses/total", accessed(60, 0, 0, ""), 1, 0},
		{"Accesses/reads", accessed(0, 40, 0, ""), 1, 0},
		{"Accesses/writes", accessed(0, 0, 40, ""), 1, 0},
		{"Accesses/both", accessed(0, 20, 30, ""), 1, 0},
		{"Accesses/closes", till(func(m rowMaker) *oracleEvent { return m.accesses(0, 30, 20, "") }), 1, 0},
		{"Accesses/process", accessed(61, 0, 0, ` process="1"`), 1, 0},
		{"Accesses/thread", accessed(62, 0, 0, ` thread="1"`), 1, 0},
		{"Accesses/anyThread", accessed(63, 0, 0, ` anyThread="true"`), 1, 0},
		{"Accesses/since", between(true, func(m rowMaker) (on, till *oracleEvent) {
			return m.call("values", "", 0), m.accesses(0, 9, 2, ` since="open"`)
		}), 2, 0},
		// It closes where nothing is accessed, beside a window that is open, so that nothing
		// else changes with the closing.
		{"Accesses/reopened", func(m rowMaker) []*oracleWindow {
			return []*oracleWindow{{threads: ofAll()}, {on: m.accesses(2, 0, 0, ""), till: m.call("recurse", "", 0), reopens: true, threads: ofAll()}}
		}, 6, 274},
		{"Sample", func(m rowMaker) []*oracleWindow {
			w := &oracleWindow{reopens: true, threads: ofAll()}
			m.sampling(w, 50, 7)
			return []*oracleWindow{w}
		}, 5, 35},
	}
}

func kernelRows() []rowCase {
	const getuid, yield = 102, 24
	enters := func(call uint64, attrs string, times int) func(rowMaker) []*oracleWindow {
		return on(func(m rowMaker) *oracleEvent { return m.enters(call, attrs, times) })
	}
	return []rowCase{
		{"Syscall/name", enters(yield, ` name="sched_yield"`, 0), 1, 0},
		{"Syscall/number", enters(getuid, ` number="102"`, 0), 1, 0},
		{"Syscall/process", enters(getuid, ` number="0x66" process="1"`, 0), 1, 0},
		{"Syscall/thread", enters(getuid, ` name="getuid" thread="1"`, 0), 1, 0},
		{"Syscall/threshold", enters(getuid, ` name="getuid"`, 2), 1, 0},
		{"Syscall/threshold/too-high", enters(getuid, ` name="getuid"`, 3), 0, 0},
		{"Syscall/closes", till(func(m rowMaker) *oracleEvent { return m.enters(yield, ` name="sched_yield"`, 0) }), 1, 0},
		{"Signal", on(func(m rowMaker) *oracleEvent { return m.signals("", 0) }), 1, 0},
		{"Signal/number", on(func(m rowMaker) *oracleEvent { return m.signals(` number="4"`, 0x0f) }), 1, 0},
		{"Signal/process", till(func(m rowMaker) *oracleEvent { return m.signals(` number="4" process="1"`, 0x0f) }), 1, 0},
		{"Signal/reopened", between(true, func(m rowMaker) (on, till *oracleEvent) {
			return m.signals(` number="11"`, 0x48), m.call("values", "", 0)
		}), 2, 0},
	}
}

func windowRows() []rowCase {
	return []rowCase{
		{"Window/neither", func(rowMaker) []*oracleWindow { return []*oracleWindow{{threads: ofAll()}} }, 1, 274},
		{"Window/once", between(false, func(m rowMaker) (on, till *oracleEvent) { return m.call("leaf", "", 0), m.ret("leaf", "", 0) }), 1, 4},
		{"Window/reopenable", between(true, func(m rowMaker) (on, till *oracleEvent) { return m.call("leaf", "", 0), m.ret("leaf", "", 0) }), 8, 32},
		{"Window/thresholds-again", between(true, func(m rowMaker) (on, till *oracleEvent) { return m.call("leaf", "", 3), m.ret("leaf", "", 2) }), 2, 0},
		{"Window/same-event", between(true, func(m rowMaker) (on, till *oracleEvent) { return m.call("leaf", "", 0), m.call("leaf", "", 0) }), 4, 0},
		{"Window/several", func(m rowMaker) []*oracleWindow {
			return []*oracleWindow{
				{on: m.call("values", "", 0), till: m.ret("values", "", 0), threads: ofAll()},
				{on: m.call("fill", "", 0), reopens: true, till: m.ret("values", "", 0),
					threads: []oracleThread{{images: []oracleSelected{image("", "", function("", instruction("cat", "anyMem", "accessValue", "timeStamp"), whatever("branch")))}}}},
				{on: m.instructions(100, ""), till: m.instructions(250, ""),
					threads: []oracleThread{{images: []oracleSelected{image("", "", function("values", whatever("routineId")))}}}},
			}
		}, 3, 0},
	}
}
