package convert

import (
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/parquet-go/parquet-go"

	"alleria/abp"
	"alleria/analysis"
)

// parquetFormat is the columnar format that DuckDB, Spark, Trino and pandas query.
func parquetFormat() *Format {
	return &Format{
		Name: "parquet", Ending: ".parquet", Split: SplitNone, Binary: true,
		Summary: "Apache Parquet for DuckDB, Spark, pandas: a row an access, or with --rows an instruction; -o DIR/ makes a dataset by process and thread",
		Needs:   "as csv",
		write:   writeParquet,
	}
}

// accessColumns is the schema of rows of accesses, in the order in which accessValues
// appends. Times are nanoseconds since the process's start.
type accessColumns struct {
	Process uint32 `parquet:"process,dict"`
	Thread  uint32 `parquet:"thread,dict"`
	accessBody
}

// accessBody is the same without the columns that a dataset's paths have.
type accessBody struct {
	Program     uint32  `parquet:"program,dict"`
	Instruction uint64  `parquet:"instruction,delta"`
	Time        *int64  `parquet:"time,optional"`
	Windows     uint64  `parquet:"windows,dict"`
	IP          uint64  `parquet:"ip,dict"`
	Function    string  `parquet:"function,dict"`
	Image       string  `parquet:"image,dict"`
	Store       bool    `parquet:"store"`
	Address     uint64  `parquet:"address"`
	Size        uint32  `parquet:"size,dict"`
	Value       *uint64 `parquet:"value,optional"`       // of up to eight bytes
	Bytes       []byte  `parquet:"value_bytes,optional"` // of more
}

// instructionColumns is the schema of rows of instructions.
type instructionColumns struct {
	Process uint32 `parquet:"process,dict"`
	Thread  uint32 `parquet:"thread,dict"`
	instructionBody
}

// instructionBody is the same without the columns that a dataset's paths have.
type instructionBody struct {
	Program     uint32  `parquet:"program,dict"`
	Instruction uint64  `parquet:"instruction,delta"`
	Time        *int64  `parquet:"time,optional"`
	Windows     uint64  `parquet:"windows,dict"`
	IP          uint64  `parquet:"ip,dict"`
	Function    string  `parquet:"function,dict"`
	Image       string  `parquet:"image,dict"`
	Code        []byte  `parquet:"code,dict"`
	Text        string  `parquet:"text,dict"`
	Taken       *bool   `parquet:"taken,optional"`
	Target      *uint64 `parquet:"target,optional,dict"`
}

// columns is some rows, by column.
type columns [][]parquet.Value

const (
	// groupRows is about how many rows a group has. Readers skip whole groups by their
	// bounds, and a group is what is in memory before it is written: 20 MB a processor.
	groupRows = 64 << 10
	// pieceRows is how many rows are handed from where they are made to where they
	// are encoded.
	pieceRows = 4096
)

// writeParquet makes rows on all processors, and encodes their groups on all as well.
func writeParquet(w io.Writer, o *Options) error {
	if err := o.needRows(); err != nil {
		return err
	}
	var model any = accessColumns{}
	switch {
	case o.Rows == Instructions && o.Partition:
		model = instructionBody{}
	case o.Rows == Instructions:
		model = instructionColumns{}
	case o.Partition:
		model = accessBody{}
	}
	schema := parquet.SchemaOf(model)
	out := parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Snappy), parquet.CreatedBy("alleria", "", ""))
	g := newGrouper(out, len(schema.Columns()))
	err := analysis.Ordered(o.Profile, o.Query, o.Progress, func() (analysis.OrderedWork[columns], func(), error) {
		rw, err := newRowWorker(o)
		if err != nil {
			return nil, nil, err
		}
		m := &valueMaker{rowWorker: rw, free: &g.free, strings: map[string]parquet.Value{}}
		return m.batch, rw.dis.Close, nil
	}, g.add)
	if e := g.end(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return out.Close()
}

// valueMaker makes rows into columns of values.
type valueMaker struct {
	*rowWorker
	strings map[string]parquet.Value // so that equal texts are one
	free    *sync.Pool               // of columns
	fixed   [][]fixedValues          // by block, then instruction
	of      *abp.Process             // that fixed is of
}

// fixedValues are the values that all executions of an instruction share.
type fixedValues struct {
	seen                            bool
	ip, function, image, code, text parquet.Value
}

// batch is analysis.OrderedWork.
func (m *valueMaker) batch(r *abp.Reader, b *abp.Batch, emit func(columns) error) error {
	if m.of != b.Process() {
		m.of, m.fixed = b.Process(), make([][]fixedValues, len(b.Process().Blocks()))
	}
	var c columns
	rows := 0
	err := m.rowWorker.batch(r, b, func(one *row) error {
		if c == nil {
			c = *m.free.Get().(*columns)
		}
		m.append(c, one)
		if rows++; rows < pieceRows {
			return nil
		}
		full := c
		c, rows = nil, 0
		return emit(full)
	})
	if err != nil || c == nil {
		return err
	}
	return emit(c)
}

// append appends a row.
func (m *valueMaker) append(c columns, r *row) {
	f := m.fixedOf(r.ins)
	at := 0
	put := func(v parquet.Value, definition int) {
		c[at] = append(c[at], v.Level(0, definition, at))
		at++
	}
	optional := func(v parquet.Value, there bool) {
		if there {
			put(v, 1)
		} else {
			put(parquet.NullValue(), 0)
		}
	}
	if !m.options.Partition {
		put(parquet.Int32Value(int32(r.process)), 0)
		put(parquet.Int32Value(int32(r.thread)), 0)
	}
	put(parquet.Int32Value(int32(r.program)), 0)
	put(parquet.Int64Value(int64(r.ins.Ordinal)), 0)
	optional(parquet.Int64Value(r.time), r.time >= 0)
	put(parquet.Int64Value(int64(r.windows)), 0)
	put(f.ip, 0)
	put(f.function, 0)
	put(f.image, 0)
	if r.mem == nil {
		put(f.code, 0)
		put(f.text, 0)
		br := r.branch
		optional(parquet.BooleanValue(br != nil && br.Taken), br != nil)
		if br != nil && br.Taken && br.Target != 0 {
			optional(parquet.Int64Value(int64(br.Target)), true)
		} else {
			optional(parquet.Value{}, false)
		}
		return
	}
	put(parquet.BooleanValue(r.mem.Store), 0)
	put(parquet.Int64Value(int64(r.mem.Addr)), 0)
	put(parquet.Int32Value(int32(r.mem.Size)), 0)
	v := r.mem.Value
	optional(parquet.Int64Value(int64(number(v))), v != nil && len(v) <= 8)
	if len(v) > 8 {
		optional(parquet.ByteArrayValue(append([]byte(nil), v...)), true)
	} else {
		optional(parquet.Value{}, false)
	}
}

// number reads up to eight bytes as one.
func number(b []byte) (n uint64) {
	for i, v := range b[:min(8, len(b))] {
		n |= uint64(v) << (8 * i)
	}
	return n
}

// fixedOf returns the values that an instruction always has.
func (m *valueMaker) fixedOf(in *abp.Instruction) *fixedValues {
	list := m.fixed[in.Block.ID]
	if list == nil {
		list = make([]fixedValues, len(in.Block.Ins))
		m.fixed[in.Block.ID] = list
	}
	f := &list[in.Index]
	if f.seen {
		return f
	}
	function, image := "", ""
	if fn := m.places.Function(in.Block, in.Index); fn != nil {
		function = fn.Display()
	}
	if img := m.places.Image(in.Block); img != nil {
		image = analysis.ImageName(img)
	}
	*f = fixedValues{seen: true, ip: parquet.Int64Value(int64(in.Addr)),
		function: m.text(function), image: m.text(image)}
	if m.options.Rows == Instructions {
		f.code = m.text(string(in.Code))
		f.text = m.text(m.dis.Text(in.Code, in.Addr))
	}
	return f
}

// text returns the one value of a text.
func (m *valueMaker) text(s string) parquet.Value {
	v, ok := m.strings[s]
	if !ok {
		v = parquet.ByteArrayValue([]byte(s))
		m.strings[s] = v
	}
	return v
}

// grouper collects pieces to groups, has these encoded side by side, and writes them in order.
type grouper struct {
	out     *parquet.GenericWriter[any]
	pieces  []columns
	rows    int
	running chan chan encoded // in order; as many as there are processors
	idle    []*parquet.ConcurrentRowGroupWriter
	free    sync.Pool // of columns
}

// encoded is a group that is ready to be written.
type encoded struct {
	group *parquet.ConcurrentRowGroupWriter
	err   error
}

func newGrouper(out *parquet.GenericWriter[any], n int) *grouper {
	g := &grouper{out: out, running: make(chan chan encoded, runtime.GOMAXPROCS(0))}
	g.free.New = func() any {
		c := make(columns, n)
		for i := range c {
			c[i] = make([]parquet.Value, 0, pieceRows/4)
		}
		return &c
	}
	return g
}

// add takes the next rows.
func (g *grouper) add(c columns) error {
	g.pieces = append(g.pieces, c)
	if g.rows += len(c[0]); g.rows < groupRows {
		return nil
	}
	return g.flush()
}

// flush has a group encoded, after it has written the oldest one if there are enough.
func (g *grouper) flush() error {
	if len(g.running) == cap(g.running) {
		if err := g.write(); err != nil {
			return err
		}
	}
	var group *parquet.ConcurrentRowGroupWriter
	if n := len(g.idle); n > 0 {
		group, g.idle = g.idle[n-1], g.idle[:n-1]
	} else {
		group = g.out.BeginRowGroup()
	}
	pieces, done := g.pieces, make(chan encoded, 1)
	g.pieces, g.rows = nil, 0
	g.running <- done
	go func() { done <- encoded{group, g.encode(group, pieces)} }()
	return nil
}

// encode writes rows into a group.
func (g *grouper) encode(group *parquet.ConcurrentRowGroupWriter, pieces []columns) error {
	for i, w := range group.ColumnWriters() {
		for _, p := range pieces {
			if _, err := w.WriteRowValues(p[i]); err != nil {
				return fmt.Errorf("column %d: %w", i, err)
			}
		}
	}
	for _, p := range pieces {
		for i := range p {
			p[i] = p[i][:0]
		}
		g.free.Put(&p)
	}
	return group.Flush()
}

// write writes the oldest group.
func (g *grouper) write() error {
	e := <-<-g.running
	if e.err != nil {
		return e.err
	}
	_, err := e.group.Commit()
	g.idle = append(g.idle, e.group)
	return err
}

// end writes what is left. It waits for all groups, also after an error.
func (g *grouper) end() error {
	var first error
	if g.rows > 0 {
		first = g.flush()
	}
	for len(g.running) > 0 {
		if err := g.write(); first == nil {
			first = err
		}
	}
	return first
}
