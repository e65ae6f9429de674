package tools

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

const (
	maxPDF      = 20 << 20 // bytes
	maxPDFPages = 100      // Anthropic refuses more
)

// showPDF passes a document on. What every provider refuses would end the
// session for good once it is in the transcript, so it is refused here.
func showPDF(path string, data []byte) *tool.Result {
	pages := countPages(data)
	switch {
	case len(data) > maxPDF:
		return tool.Errorf("%s is a PDF of %d MB, more than the %d MB that can be shown. Extract its text with a command such as pdftotext", path, len(data)>>20, maxPDF>>20)
	case pages > maxPDFPages:
		return tool.Errorf("%s is a PDF of %d pages, more than the %d that can be shown. Extract its text with a command such as pdftotext", path, pages, maxPDFPages)
	case bytes.Contains(data, []byte("/Encrypt")):
		return tool.Errorf("%s is a PDF that is encrypted, and cannot be shown", path)
	case !bytes.Contains(data[max(0, len(data)-2048):], []byte("%%EOF")):
		return tool.Errorf("%s is a PDF that is damaged: it has no end", path)
	}
	r := tool.Text(fmt.Sprintf("PDF document %s (%d bytes).", path, len(data)))
	r.Content = append(r.Content, llm.Document{MediaType: "application/pdf", Title: filepath.Base(path), Data: data})
	return r
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
