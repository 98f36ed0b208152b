package frame

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Streams of a body, in the order in which they are stored.
const (
	streamRuns       = iota // predicted blocks in front of each symbol
	streamSymbols           // blocks that were not predicted, and marks
	streamNumbers           // numbers of blocks, as differences to the block before
	streamWords             // control bytes of address words
	streamPay               // payloads of mispredicted address words
	streamValClasses        // classes of mispredicted value words, with runs
	streamValPay            // their payloads
	streamTimes             // time stamps, as differences
	streamBranch            // branch words that are not what they should be
	streamMarks             // words of marks
	numStreams
	streamTouched = numStreams // blocks by first execution, with how often they were executed
	allStreams    = numStreams + 1
)

// A body is the number of items (uint64), then for each stream how it is stored
// (uint8), its size (uint32) and its stored size (uint32), then the streams.
const (
	bodyHeader   = 8 + allStreams*9
	storedRaw    = 0
	storedZstd   = 1
	storedSnappy = 2
	tinyStream   = 64      // below, headers eat what it gains
	maxStream    = 1 << 30 // no stream is larger
	skipAfterBad = 15      // frames for which a stream that did not shrink is left alone

	// window is how far back zstd looks. Streams repeat themselves soon or not at
	// all, and each encoder has a buffer of the window's size: with zstd's own
	// 4 MiB the same sizes to a hundredth, and slower.
	window = 512 << 10
)

// packer makes bodies.
// An encoder of zstd is large (some MiB) and slow to make: one is kept for all
// frames.
type packer struct {
	enc *zstd.Encoder // nil: not by zstd
	// snappy: a quarter of zstd's time, for an eighth more bytes. Streams that did not
	// shrink lately are left alone; skip counts for how many frames yet.
	snappy bool
	skip   [allStreams]int
}

// newPacker makes a packer; level as for NewEncoder. The section's checksum covers the
// body, which is why zstd's is off.
func newPacker(level int) (packer, error) {
	if level <= 0 {
		return packer{snappy: level == 0}, nil
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(window))
	if err != nil {
		return packer{}, fmt.Errorf("zstd encoder: %w", err)
	}
	return packer{enc: enc}, nil
}

// body appends a body to dst.
func (p *packer) body(dst []byte, items uint64, streams [numStreams]*[]byte, touched []byte) []byte {
	// The table of streams is filled in as they are appended: their stored sizes
	// are known only then.
	start := len(dst)
	dst = append(dst, make([]byte, bodyHeader)...)
	binary.LittleEndian.PutUint64(dst[start:], items)
	for i := range allStreams {
		s := touched
		if i < numStreams {
			s = *streams[i]
		}
		at := len(dst)
		how := p.stream(i, &dst, s)
		h := dst[start+8+9*i:]
		h[0] = how
		binary.LittleEndian.PutUint32(h[1:], uint32(len(s)))
		binary.LittleEndian.PutUint32(h[5:], uint32(len(dst)-at))
	}
	return dst
}

// stream appends one stream to dst and says how it is stored.
// A compressor may make a stream larger; then it stays as it is.
func (p *packer) stream(i int, dst *[]byte, s []byte) (how byte) {
	at := len(*dst)
	switch {
	case len(s) < tinyStream:
	case p.enc != nil:
		*dst, how = p.enc.EncodeAll(s, *dst), storedZstd
	case p.snappy && p.skip[i] == 0:
		*dst = slices.Grow(*dst, s2.MaxEncodedLen(len(s)))
		packed := s2.EncodeSnappy((*dst)[at:cap(*dst)], s)
		*dst, how = (*dst)[:at+len(packed)], storedSnappy
		// Time matters more than the last per cent: a stream that it gains less than
		// a quarter on is left alone for some frames.
		if len(packed) > len(s)-len(s)/4 {
			p.skip[i] = skipAfterBad
		}
	case p.skip[i] > 0:
		p.skip[i]--
	}
	if how == storedRaw || len(*dst)-at >= len(s) {
		*dst = append((*dst)[:at], s...)
		return storedRaw
	}
	return how
}

// unpacker takes bodies apart.
// bufs are the memory that compressed streams are decompressed into, frame after
// frame.
type unpacker struct {
	dec     *zstd.Decoder
	items   uint64
	streams [allStreams][]byte
	bufs    [allStreams][]byte
}

// open splits a body into its streams. Raw ones point into it.
func (u *unpacker) open(body []byte) error {
	return u.each(body, func(i int, how byte, size uint32, stored []byte) error {
		return u.stream(i, how, size, stored)
	})
}

// openOnly makes one stream of a body, and leaves the others as they were.
func (u *unpacker) openOnly(want int, body []byte) error {
	return u.each(body, func(i int, how byte, size uint32, stored []byte) error {
		if i != want {
			return nil
		}
		return u.stream(i, how, size, stored)
	})
}

// each calls f for each stream of a body, as it is stored.
func (u *unpacker) each(body []byte, f func(i int, how byte, size uint32, stored []byte) error) error {
	if len(body) < bodyHeader {
		return fmt.Errorf("body of %d bytes: %w", len(body), ErrMalformed)
	}
	u.items = binary.LittleEndian.Uint64(body)
	rest := body[bodyHeader:]
	for i := range allStreams {
		h := body[8+9*i:]
		size, stored := binary.LittleEndian.Uint32(h[1:]), binary.LittleEndian.Uint32(h[5:])
		if uint64(stored) > uint64(len(rest)) || size > maxStream {
			return fmt.Errorf("stream %d of %d bytes: %w", i, stored, ErrMalformed)
		}
		if err := f(i, h[0], size, rest[:stored]); err != nil {
			return err
		}
		rest = rest[stored:]
	}
	if len(rest) != 0 {
		return fmt.Errorf("%d bytes behind the streams: %w", len(rest), ErrMalformed)
	}
	return nil
}

// stream gives one stream, decompressed where it has to be, of exactly the size that the
// table says.
func (u *unpacker) stream(i int, how byte, size uint32, stored []byte) error {
	switch how {
	case storedRaw:
		u.streams[i] = stored
	case storedZstd:
		// Made when needed: a profile without compression never does.
		if u.dec == nil {
			dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxStream),
				zstd.WithDecoderLowmem(true))
			if err != nil {
				return fmt.Errorf("zstd decoder: %w", err)
			}
			u.dec = dec
		}
		out, err := u.dec.DecodeAll(stored, u.bufs[i][:0])
		if err != nil {
			return fmt.Errorf("stream %d: %w: %w", i, ErrMalformed, err)
		}
		u.bufs[i], u.streams[i] = out, out
	case storedSnappy:
		n, err := s2.DecodedLen(stored)
		if err != nil || n != int(size) {
			return fmt.Errorf("stream %d: %w", i, ErrMalformed)
		}
		out, err := s2.Decode(slices.Grow(u.bufs[i][:0], n)[:n], stored)
		if err != nil {
			return fmt.Errorf("stream %d: %w: %w", i, ErrMalformed, err)
		}
		u.bufs[i], u.streams[i] = out, out
	default:
		return fmt.Errorf("stream %d stored in way %d: %w", i, how, ErrMalformed)
	}
	if uint32(len(u.streams[i])) != size {
		return fmt.Errorf("stream %d has %d bytes, not %d: %w", i, len(u.streams[i]), size, ErrMalformed)
	}
	return nil
}
