package abp

// Source has the tables of a process that is still being recorded, for analyses that run beside
// it. Its methods may be called from any goroutine; what they return does not change any more.
type Source interface {
	// Block returns the block of that number, prepared; nil if there is none.
	Block(id uint32) *Block
	// Image and Function return rows by number, nil where there are none.
	Image(number uint32) *Image
	Function(number uint32) *Function
	// Images and Functions return the rows from some place of their tables on, in the order in which they were
	// entered. A row that replaces another comes once more.
	Images(from int) []*Image
	Functions(from int) []*Function
}

// Growing returns a process without files, whose tables grow: Block, Image and Function ask the
// source each time. It has no threads; Blocks, Images and Functions list nothing.
func Growing(h Header, s Source) *Process {
	return &Process{main: &File{header: h}, source: s}
}

// Source returns what a process made by Growing gets its tables from, nil for one of a profile.
func (p *Process) Source() Source { return p.source }
