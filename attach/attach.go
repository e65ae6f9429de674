// Package attach turns files into content for prompts: images, PDFs and texts. The content
// of a file, not its name, decides its kind.
//
//	blocks, err := attach.File("screenshot.png")
//	res, err := a.Prompt(ctx, "What is wrong here?", blocks...)
package attach

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/llm"
)

const (
	maxFile = 32 << 20 // bytes of an image or a PDF
	maxText = 2 << 20  // bytes of a text
)

// File returns the content of a file for a prompt, as [Bytes] makes it.
//
//	blocks, err := attach.File("invoice.pdf")
//	res, err := a.Prompt(ctx, "What is to be paid?", blocks...)
func File(path string) ([]llm.Block, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("attaching %s: %w", path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("attaching %s: %w", path, err)
	}
	blocks, err := Bytes(filepath.Base(path), data)
	if err != nil {
		return nil, fmt.Errorf("attaching %s: %w", path, err)
	}
	return blocks, nil
}

// Bytes returns content for a prompt: an image with a word about its size, a PDF,
// or a text of up to 2 MB (UTF-8, or UTF-16 with its byte order mark) as a document. The
// title begins the error for anything else.
//
// An image (PNG, JPEG, GIF, WebP) stands upright, no side is longer than 1,568 pixels, and
// its base64 is at most 5 MiB. Of an animation it is the first frame. A damaged image is
// refused, since it would spoil a conversation permanently, and so is one of more than 50
// million pixels. So are PDFs that every provider refuses: of more than 20 MB or 100 pages,
// encrypted, or without an end. Models read the text of a PDF: it is not extracted here.
func Bytes(title string, data []byte) ([]llm.Block, error) {
	switch {
	case len(data) > maxFile:
		return nil, fmt.Errorf("%s has more than %d MB; attach a smaller file", title, maxFile>>20)
	case media.ImageType(data) != "":
		p, err := media.Image(data)
		if err != nil {
			return nil, fmt.Errorf("%s is an image (%s) that cannot be shown: %w", title, media.ImageType(data), err)
		}
		return []llm.Block{llm.Text{Text: fmt.Sprintf("Image %s (%s, %s).", title, media.ImageType(data), p.Size())}, p.Image}, nil
	case media.IsPDF(data):
		d, err := media.PDF(title, data)
		if err != nil {
			return nil, err
		}
		return []llm.Block{d}, nil
	}
	text, ok := readText(data)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s is neither an image (PNG, JPEG, GIF, WebP) nor a PDF nor text in UTF-8 or UTF-16", title)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, fmt.Errorf("%s is empty", title)
	case len(text) > maxText:
		return nil, fmt.Errorf("%s is a text of more than %d MB; let the agent read it in parts instead", title, maxText>>20)
	}
	return []llm.Block{llm.Document{MediaType: "text/plain", Title: title, Data: text}}, nil
}

// readText returns a text as UTF-8; false if data is not text.
func readText(data []byte) ([]byte, bool) {
	for mark, order := range map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian} {
		if rest, ok := bytes.CutPrefix(data, []byte(mark)); ok && len(rest)%2 == 0 {
			units := make([]uint16, len(rest)/2)
			for i := range units {
				units[i] = order.Uint16(rest[2*i:])
			}
			text := []byte(string(utf16.Decode(units)))
			return text, !bytes.ContainsAny(text, "\x00\uFFFD")
		}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	return data, utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}
