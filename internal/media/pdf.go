package media

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/openagent-go/agent/llm"
)

const (
	maxPDF      = 20 << 20 // bytes
	maxPDFPages = 100      // Anthropic refuses more
)

// IsPDF reports whether data begins as a PDF does.
func IsPDF(data []byte) bool { return bytes.HasPrefix(data, []byte("%PDF-")) }

// PDF returns a document that models read directly: its text is not extracted here. It
// refuses files that every provider refuses, because such a file would end a conversation
// permanently: more than 20 MB, more than 100 pages, encrypted, or without an end. The
// error begins with the title, or with "the document" if that is empty.
func PDF(title string, data []byte) (llm.Document, error) {
	pages, name := countPages(data), cmp.Or(title, "the document")
	switch {
	case !IsPDF(data):
		return llm.Document{}, fmt.Errorf("%s is not a PDF file", name)
	case len(data) > maxPDF:
		return llm.Document{}, fmt.Errorf("%s is a PDF of %d MB, more than the %d MB that can be shown. Extract its text with a command such as pdftotext", name, len(data)>>20, maxPDF>>20)
	case pages > maxPDFPages:
		return llm.Document{}, fmt.Errorf("%s is a PDF of %d pages, more than the %d that can be shown. Extract its text with a command such as pdftotext", name, pages, maxPDFPages)
	case bytes.Contains(data, []byte("/Encrypt")):
		return llm.Document{}, fmt.Errorf("%s is a PDF that is encrypted, and cannot be shown", name)
	case !bytes.Contains(data[max(0, len(data)-2048):], []byte("%%EOF")):
		return llm.Document{}, fmt.Errorf("%s is a PDF that is damaged: it has no end", name)
	}
	return llm.Document{MediaType: "application/pdf", Title: title, Data: data}, nil
}

// countPages counts the pages of a PDF that are not in compressed objects.
func countPages(data []byte) int {
	n := 0
	for {
		i := bytes.Index(data, []byte("/Type"))
		if i < 0 {
			return n
		}
		data = data[i+len("/Type"):]
		rest, ok := bytes.CutPrefix(bytes.TrimLeft(data[:min(len(data), 32)], " \r\n\t"), []byte("/Page"))
		if ok && (len(rest) == 0 || rest[0] != 's') {
			n++
		}
	}
}
