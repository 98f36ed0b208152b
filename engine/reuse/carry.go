package reuse

import (
	"encoding/binary"

	"alleria/engine/codecache"
)

// A process that lacks an image of what it has taken over, as scripts do that load other modules of their interpreter, carries the image's part on: the next
// one that has the image finds it. Its translations lie in the process's cache where they lay in the template's, at the image's address there, and
// nobody has led anywhere in them. All there is to correct is displacements, which say how far the image is from the region.
//
// That goes on as long as someone has the image once in a while. What several templates in succession were left without stays where it is and belongs to no image,
// and where there is more such code than other there is no template (NewTemplate).
//
// Refused: templates by what is loaded besides, which would be as many as there are sets of modules, each with the interpreter's own code.

// mostUnused is how many templates in succession an image is carried on in: more than there are programs that take turns, each with modules of its own. Each template
// has a part more than the one before (growth).
const mostUnused = 32

// carry adds the images of what a process had taken over that it lacked itself. They come behind its own: their addresses are another process's.
func (t *Template) carry(cache *codecache.Cache, from *Taken) {
	if from == nil {
		return
	}
	own := len(t.images)
	for i := range from.images {
		im := from.images[i] // the lists do not change
		if im.unused++; from.done[i] || !im.id.known() || len(im.blocks) == 0 || im.unused > mostUnused || t.hasOwn(&im.Image, own) {
			continue
		}
		for _, r := range im.relocs {
			if r.Kind == codecache.RelocDisp {
				at, moved := cache.Regions[r.Region].Mem[r.At:], cache.Regions[r.Region].Base-from.Regions[r.Region].Base
				binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)-uint32(moved))
			}
		}
		t.images = append(t.images, im)
	}
}

// hasOwn tells whether an image is of the same piece of a file as one of the first ones: the process has translated that anew, for a reason.
func (t *Template) hasOwn(im *Image, own int) bool {
	for i := range own {
		if t.images[i].samePiece(im) {
			return true
		}
	}
	return false
}
