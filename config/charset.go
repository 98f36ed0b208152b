package config

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// declaration returns the encoding that an XML declaration names, empty where there is none. It is
// asked of text that is one byte a character up to there, as all encodings are but those of two.
func declaration(text []byte) string {
	m := regexp.MustCompile(`^<\?xml\s[^>]{0,200}?\bencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`).FindSubmatch(text)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// toUTF8 returns a file's text as UTF-8 without a byte order mark, which takes no column in any
// editor. Files of the published profiler were written on Windows, in UTF-16 or one of its eight-bit
// encodings. converted: the declaration, if there is one, does not say what the text is in now.
//
// Text that declares nothing is UTF-8, as XML has it; what is wrong in it the scan reports.
func toUTF8(data []byte) (text []byte, converted bool, err error) {
	var enc encoding.Encoding
	label := "UTF-16"
	switch {
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}), bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		enc = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case bytes.HasPrefix(data, []byte("<\x00")):
		enc = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case bytes.HasPrefix(data, []byte("\x00<")):
		enc = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	default:
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		if ascii(data) {
			return data, true, nil
		}
		if label = declaration(data); label == "" || strings.EqualFold(label, "utf-8") {
			return data, false, nil
		}
		if enc, err = htmlindex.Get(label); err != nil {
			return data, false, fmt.Errorf("the encoding %q is declared, which is not known", label)
		}
	}
	text, err = enc.NewDecoder().Bytes(data)
	if err != nil || len(data)%2 != 0 && label == "UTF-16" {
		return data, false, fmt.Errorf("the text is not %s", label)
	}
	return text, true, nil
}

// ascii reports whether text reads alike in all encodings of bytes.
func ascii(text []byte) bool {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
