package lsp

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Position is a place in a document as the protocol has it: a line from 0 and
// the units of the server's [Encoding] before it on that line.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// A Range ends before End.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// An Encoding is the unit of positions.
type Encoding string

const (
	UTF8  Encoding = "utf-8"  // bytes
	UTF16 Encoding = "utf-16" // every server understands it
)

// Units returns how many units the first n characters of line have.
func (e Encoding) Units(line string, n int) int {
	units := 0
	for i, r := range line {
		if n--; n < 0 {
			break
		}
		if e == UTF8 {
			_, size := utf8.DecodeRuneInString(line[i:])
			units += size
		} else {
			units += utf16.RuneLen(r)
		}
	}
	return units
}

// Offset returns the length in bytes of the beginning of line that has this many
// units, at most the length of line.
func (e Encoding) Offset(line string, units int) int {
	if e == UTF8 {
		return min(max(units, 0), len(line))
	}
	for i, r := range line {
		if units <= 0 {
			return i
		}
		units -= utf16.RuneLen(r)
	}
	return len(line)
}

// A Location is a range of a document.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// URI returns the URI of the file at an absolute path.
func URI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // C:/x
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// Path returns the path of the file that a URI names.
func Path(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", fmt.Errorf("reading a URI: %w", err)
	}
	if u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") {
		return "", fmt.Errorf("reading a URI: %.200q is not a file of this machine", uri)
	}
	if strings.ContainsRune(u.Path, 0) {
		return "", errors.New("reading a URI: it holds a NUL byte")
	}
	path := u.Path
	if len(path) > 2 && path[2] == ':' && filepath.Separator == '\\' { // /C:/x
		path = path[1:]
	}
	return filepath.Clean(filepath.FromSlash(path)), nil
}
