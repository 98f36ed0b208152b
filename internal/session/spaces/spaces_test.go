package spaces

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"alleria/abp"
	"alleria/internal/sys"
)

const page = 4096

// TestNews: a region is news where it was something else, and only there.
func TestNews(t *testing.T) {
	var s Space
	maps, err := sys.ParseMaps([]byte("400000-402000 r-xp 00000000 fe:01 7   /bin/p\n" +
		"402000-403000 rw-p 00002000 fe:01 7   /bin/p\n" +
		"500000-501000 rw-p 00000000 00:00 0   [heap]\n" +
		"7000000-7002000 rw-s 00001000 00:01 99   /dev/zero (deleted)\n" +
		"7ffe000-7fff000 rw-p 00000000 00:00 0   [stack]\n"))
	if err != nil {
		t.Fatal(err)
	}
	news := s.Look(maps)
	want := []abp.Region{
		{Start: 0x400000, End: 0x402000, Prot: 5, Kind: abp.RegionImage, Label: "/bin/p", Device: 0xfe<<32 | 1, Inode: 7},
		{Start: 0x402000, End: 0x403000, Prot: 3, Kind: abp.RegionImage, Label: "/bin/p", Device: 0xfe<<32 | 1, Inode: 7, Offset: 0x2000},
		{Start: 0x500000, End: 0x501000, Prot: 3, Kind: abp.RegionHeap, Label: "[heap]"},
		{Start: 0x7000000, End: 0x7002000, Prot: 3, Shared: true, Kind: abp.RegionFile, Label: "/dev/zero (deleted)", Device: 1, Inode: 99, Offset: 0x1000},
		{Start: 0x7ffe000, End: 0x7fff000, Prot: 3, Kind: abp.RegionStack, Label: "[stack]"},
	}
	if !reflect.DeepEqual(news, want) {
		t.Errorf("the first look: %+v, expected %+v", news, want)
	}
	if again := s.Look(maps); again != nil {
		t.Errorf("the same once more: %+v", again)
	}
	if r := s.Break(0x503000); len(r) != 1 || r[0].Start != 0x500000 || r[0].End != 0x503000 || s.Break(0x502000) != nil {
		t.Errorf("the heap has grown: %+v", r)
	}
	r := s.Moved(0x7001000, page, 0x9000000, 2*page)
	if len(r) != 1 || r[0].Start != 0x9000000 || r[0].End != 0x9002000 || r[0].Inode != 99 || r[0].Offset != 0x2000 {
		t.Errorf("a part was moved: %+v", r)
	}
	if r := s.Moved(0x1000, page, 0x2000, page); r != nil {
		t.Errorf("what was not known was moved: %+v", r)
	}
	if r := (&Space{}).Break(0x1000); r != nil {
		t.Errorf("the first thing that is heard of a heap is where it begins: %+v", r)
	}
}

// TestChurn: a program that maps often tells no more than one that maps once.
func TestChurn(t *testing.T) {
	var s Space
	rows := 0
	for range 100_000 {
		rows += len(s.Put(Anonymous(0x10000, 0x90000, protRead|protWrite, 1)))
		rows += len(s.Put(Anonymous(0x20000, 0x30000, protRead, 2)))
	}
	if rows != 1 || len(s.regions) != 1 {
		t.Errorf("%d rows, %d regions", rows, len(s.regions))
	}
}

// TestPages compares random mappings with a table of pages.
func TestPages(t *testing.T) {
	type what struct {
		inode, offset uint64
		known         bool
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var s Space
		pages := make([]what, 64)
		told := make([]what, 64) // by the news
		for range 60 {
			from, inode, off := rnd.Uint64N(60), rnd.Uint64N(3), rnd.Uint64N(2)
			n := 1 + rnd.Uint64N(64-from)
			r := abp.Region{Start: from * page, End: (from + n) * page, Inode: inode}
			if inode != 0 {
				r.Offset = (from + off) * page // so that neighbours may go on
			}
			mark := func(to []what, r abp.Region) {
				for i := r.Start / page; i < r.End/page; i++ {
					to[i] = what{r.Inode, 0, true}
					if r.Inode != 0 {
						to[i].offset = r.Offset + i*page - r.Start
					}
				}
			}
			mark(pages, r)
			for _, n := range s.Put(r) {
				mark(told, n)
			}
			got := make([]what, 64)
			for i := range s.regions {
				if i > 0 && s.regions[i-1].End > s.regions[i].Start {
					t.Fatalf("regions overlap: %+v", s.regions)
				}
				mark(got, s.regions[i])
			}
			if !reflect.DeepEqual(got, pages) || !reflect.DeepEqual(told, pages) {
				t.Fatalf("known: %v, told: %v, expected %v", got, told, pages)
			}
		}
	}
}

// TestAskedBy: mappings beside each other that different functions have asked for are two, also where the kernel makes one of them.
func TestAskedBy(t *testing.T) {
	var s Space
	for _, r := range [][]uint64{{0x10000, 0x20000, 7}, {0x20000, 0x30000, 8}, {0x30000, 0x40000, 8}} {
		s.Put(Anonymous(r[0], r[1], protRead, r[2]))
	}
	if news := s.Put(Anonymous(0x10000, 0x40000, protRead, 0)); len(news) != 0 {
		t.Errorf("news of what is known: %+v", news)
	}
	if len(s.regions) != 2 || s.regions[0].By != 7 || s.regions[1].By != 8 || s.regions[1].Start != 0x20000 || s.regions[1].End != 0x40000 {
		t.Errorf("%+v", s.regions)
	}
}
