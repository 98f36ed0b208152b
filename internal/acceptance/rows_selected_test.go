package acceptance

import "path/filepath"

// ofProgram is open with a selection that names the program.
func ofProgram(make func(path, name string) []oracleSelected) func(rowMaker) []*oracleWindow {
	return func(m rowMaker) []*oracleWindow {
		return open(make(m.prog, filepath.Base(m.prog))...)(m)
	}
}

func imageRows() []rowCase {
	// Each selects a function of its own, so that what was recorded tells which holds.
	leaf, inner, fill := function("leaf", whatever()), function("inner", whatever()), function("fill", whatever())
	outer, recurse := function("outer", whatever()), function("recurse", whatever())
	return []rowCase{
		{"Image/path", ofProgram(func(path, _ string) []oracleSelected { return []oracleSelected{image("path", path, leaf)} }), 1, 32},
		{"Image/name", ofProgram(func(_, name string) []oracleSelected { return []oracleSelected{image("name", name, leaf)} }), 1, 32},
		{"Image/main", open(image("main", "true", leaf)), 1, 32},
		{"Image/anyButSys", open(image("anyButSys", "true", leaf)), 1, 32},
		{"Image/any", open(image("", "", leaf)), 1, 32},
		{"Image/other", open(image("name", "libnone.so", leaf)), 1, 0},
		{"Image/specificity/path", ofProgram(func(path, name string) []oracleSelected {
			return []oracleSelected{image("", "", leaf), image("anyButSys", "true", inner), image("main", "true", fill), image("name", name, outer), image("path", path, recurse)}
		}), 1, 19},
		{"Image/specificity/name", ofProgram(func(_, name string) []oracleSelected {
			return []oracleSelected{image("", "", leaf), image("name", name, outer), image("anyButSys", "true", inner), image("main", "true", fill)}
		}), 1, 6},
		{"Image/specificity/main", open(image("", "", leaf), image("main", "true", fill), image("anyButSys", "true", inner)), 1, 3},
		{"Image/specificity/anyButSys", open(image("anyButSys", "true", inner), image("", "", leaf)), 1, 12},
		{"Image/excluded", open(image("main", "true"), image("", "", leaf)), 1, 0},
		{"Process", func(m rowMaker) []*oracleWindow { return open(image("", "", leaf))(m) }, 1, 32},
		{"Thread/n", func(rowMaker) []*oracleWindow {
			return []*oracleWindow{{threads: []oracleThread{{images: []oracleSelected{image("", "", leaf)}}, {n: 1, images: []oracleSelected{image("", "", inner)}}}}}
		}, 1, 12},
		{"Thread/any", func(rowMaker) []*oracleWindow {
			return []*oracleWindow{{threads: []oracleThread{{n: 2, images: []oracleSelected{image("", "", leaf)}}, {images: []oracleSelected{image("", "", inner)}}}}}
		}, 1, 12},
		{"Thread/excluded", func(rowMaker) []*oracleWindow {
			return []*oracleWindow{{threads: []oracleThread{{n: 1, images: []oracleSelected{image("", "")}}, {images: []oracleSelected{image("", "", inner)}}}}}
		}, 1, 0},
	}
}

func functionSelectionRows() []rowCase {
	mem, calls := instruction("cat", "anyMem"), instruction("cat", "CALL")
	return []rowCase{
		{"Function/name", named(function("recurse", whatever())), 1, 19},
		{"Function/name/second", named(function("leaf_alias", whatever())), 1, 32},
		{"Function/name/demangled", named(function("ns::Class::method", whatever())), 1, 3},
		{"Function/name/as-linked", named(function("_ZN2ns5Class6methodEi", whatever())), 1, 3},
		{"Function/decorated", named(decorated("_ZN2ns5Class6methodEi", whatever())), 1, 3},
		{"Function/decorated/demangled", named(decorated("ns::Class::method", whatever())), 1, 0},
		{"Function/none", named(function("", whatever())), 1, 274},
		{"Function/wildcard", named(function("inner*", whatever())), 1, 13},
		{"Function/wildcard/demangled", named(function("ns::*", whatever())), 1, 3},
		{"Function/wildcard/middle", named(function("l*f", whatever())), 1, 32},
		{"Function/wildcard/named-only", named(function("*", whatever())), 1, 271},
		{"Function/parts", named(function("vary", whatever())), 1, 16},
		{"Function/parts/own-name", named(function("vary", whatever()), function("vary.cold")), 1, 14},
		{"Function/specificity/decorated", named(function("leaf", whatever()), decorated("leaf", mem)), 1, 24},
		{"Function/specificity/demangled", named(function("", whatever()), function("leaf", mem)), 1, 0},
		{"Function/specificity/exact", named(function("lea*", whatever()), function("leaf", mem)), 1, 24},
		{"Function/specificity/longer", named(function("l*", whatever()), function("le*", mem), function("*", calls)), 1, 0},
		{"Function/specificity/order", named(function("*af", mem), function("le*", whatever())), 1, 24},
		{"Function/excluded", named(function("", whatever()), function("values")), 1, 204},
	}
}

func instructionRows() []rowCase {
	return []rowCase{
		{"Instruction/form", kinds(instruction("form", "MOV_MEMv_GPRv")), 1, 0},
		{"Instruction/class", kinds(instruction("class", "MOV")), 1, 0},
		{"Instruction/isa", kinds(instruction("isa", "SSE")), 1, 0},
		{"Instruction/ext", kinds(instruction("ext", "X87")), 1, 6},
		{"Instruction/cat", kinds(instruction("cat", "COND_BR")), 1, 4},
		{"Instruction/anyMem", kinds(instruction("cat", "anyMem")), 1, 0},
		{"Instruction/any", kinds(whatever()), 1, 70},
		{"Instruction/specificity/form", kinds(instruction("class", "MOV", "timeStamp"), instruction("form", "MOV_MEMv_GPRv", "accessValue")), 1, 0},
		{"Instruction/specificity/class", kinds(instruction("isa", "I86", "timeStamp"), instruction("class", "MOV", "accessValue")), 1, 0},
		{"Instruction/specificity/isa", kinds(instruction("ext", "BASE", "timeStamp"), instruction("isa", "I86", "accessValue")), 1, 0},
		{"Instruction/specificity/ext", kinds(instruction("cat", "DATAXFER", "timeStamp"), instruction("ext", "BASE", "accessValue")), 1, 0},
		{"Instruction/specificity/cat", kinds(instruction("cat", "anyMem", "timeStamp"), instruction("cat", "DATAXFER", "accessValue")), 1, 0},
		{"Instruction/specificity/anyMem", kinds(whatever("timeStamp"), instruction("cat", "anyMem", "accessValue")), 1, 70},
		{"Instruction/specificity/all", kinds(whatever("timeStamp"), instruction("cat", "anyMem", "routineId"), instruction("cat", "DATAXFER", "branch"),
			instruction("ext", "X87", "accessValue"), instruction("isa", "SSE", "accessAddressAndSize"), instruction("class", "JMP", "branch"),
			instruction("form", "JMP_GPRv", "branch", "timeStamp")), 1, 70},
	}
}

func fieldRows() []rowCase {
	with := func(in oracleInstruction, change func(in *oracleInstruction)) oracleInstruction {
		change(&in)
		return in
	}
	return []rowCase{
		{"Field/none", named(function("", whatever())), 1, 274},
		{"Field/timeStamp", named(function("", whatever("timeStamp"))), 1, 274},
		{"Field/routineId", named(function("", whatever("routineId"))), 1, 274},
		{"Field/accessAddressAndSize", named(function("", whatever("accessAddressAndSize"))), 1, 274},
		{"Field/accessValue", named(function("", whatever("accessValue"))), 1, 274},
		{"Field/branch", named(function("", whatever("branch"))), 1, 274},
		{"Field/registers", named(function("", with(whatever(), func(in *oracleInstruction) { in.registers = oracleRegisters() }))), 1, 274},
		{"Field/mixed", kinds(whatever(), instruction("cat", "anyMem", "accessAddressAndSize"), instruction("class", "XCHG", "accessValue", "timeStamp"),
			with(instruction("cat", "UNCOND_BR", "branch"), func(in *oracleInstruction) { in.registers = []string{"rax", "rflags"} })), 1, 70},
		{"Field/sample/all", named(function("", with(whatever("accessValue"), func(in *oracleInstruction) { in.sample = 1 }))), 1, 274},
		{"Field/sample", named(function("", with(whatever("accessValue"), func(in *oracleInstruction) { in.sample = 3 }))), 1, 274},
		{"Field/union", func(m rowMaker) []*oracleWindow {
			return append(named(function("values", whatever("timeStamp")))(m), named(function("", instruction("cat", "anyMem", "accessValue")))(m)...)
		}, 2, 0},
	}
}
