package analysis

import "alleria/abp"

// Places names the code of one process: which function and which image an instruction is
// of, as the report has it. Immutable once made.
type Places struct{ pl *places }

// NewPlaces sorts the process's tables.
func NewPlaces(p *abp.Process) *Places { return &Places{newPlaces(p)} }

// Function returns the function of an instruction of a block, nil if it is in none.
func (p *Places) Function(b *abp.Block, ins int) *abp.Function { return p.pl.function(b, ins) }

// FunctionAt returns the function that holds an address, nil if none does.
func (p *Places) FunctionAt(addr uint64) *abp.Function { return p.pl.functionAt(addr) }

// Image returns the image of a block, nil for code in none.
func (p *Places) Image(b *abp.Block) *abp.Image { return p.pl.image(b) }

// ImageOf returns the image of an instruction: the block's, where that holds it.
func (p *Places) ImageOf(b *abp.Block, ins int) *abp.Image {
	addr := b.InsAddr(ins)
	if img := p.pl.imageIn(b.Image, addr); img == nil || holds(img, addr) {
		return img
	}
	return p.pl.imageAt(addr)
}

// ImageAt returns the image that holds an address, nil if none does.
func (p *Places) ImageAt(addr uint64) *abp.Image { return p.pl.imageAt(addr) }

// Code tells an instruction of a block from others that lay at its address.
func (p *Places) Code(b *abp.Block, ins int) Code { return p.pl.code(b, ins) }

// DescribeCode is Describe for an instruction.
func (p *Places) DescribeCode(c Code) string { return p.pl.describeCode(c) }

// Describe names an address for people: function or image with an offset, else nothing.
func (p *Places) Describe(addr uint64) string { return p.pl.describe(addr) }

// ImageName is what tables call an image, also where it is nil.
func ImageName(img *abp.Image) string { return imageName(img) }

// Expect announces a thread's frames to whoever watches; see Progress.
func (p *Progress) Expect(t *abp.Thread) { p.expect(t) }

// Add counts n executions as read.
func (p *Progress) Add(n uint64) { p.add(n) }

// Scaled is the counts times a factor.
func Scaled(c abp.Counts, by float64) abp.Counts { return scaled(c, by) }
