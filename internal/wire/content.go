package wire

import (
	"encoding/base64"
	"fmt"

	"github.com/openagent-go/agent/llm"
)

// Pictures says which images a model takes.
type Pictures struct {
	None, NoGIF bool
	Most        int // bytes of base64
	// Side is the longest side in pixels. SideInMany is the limit for requests with many
	// images. 0: any.
	Side, SideInMany int
}

// Check returns the media type of an image. why says in words why the image is left out, ""
// if it is sent.
func (p Pictures) Check(i llm.Image, crowded bool) (media, why string) {
	media, width, height := Picture(i.Data)
	side := max(width, height)
	switch {
	case p.None:
		why = "[image left out: this model reads no images]"
	case media == "":
		why = "[image left out: it is not a readable PNG, JPEG, GIF or WebP]"
	case p.NoGIF && media == "image/gif":
		why = "[image left out: this host reads no GIF]"
	case base64.StdEncoding.EncodedLen(len(i.Data)) > p.Most:
		why = fmt.Sprintf("[image left out: %d bytes, the limit is %d MB in base64]", len(i.Data), p.Most>>20)
	case p.Side > 0 && side > p.Side, p.SideInMany > 0 && crowded && side > p.SideInMany:
		why = fmt.Sprintf("[image left out: %d x %d pixels is too large]", width, height)
	}
	return media, why
}

// NoDocument returns the words that replace a document that is left out.
func NoDocument(d llm.Document) string {
	return fmt.Sprintf("[document left out: %s, %d bytes]", d.MediaType, len(d.Data))
}

// InResult reports whether a tool's result may contain a block.
func InResult(b llm.Block) bool {
	switch b.(type) {
	case llm.Text, llm.Image, llm.Document:
		return true
	}
	return false
}

// The functions below are for codecs that store the inside of a JSON string in a part of
// kind Words.

// AddWords adds text that is not blank.
func (t *Turn) AddWords(s string) {
	if !Blank(s) {
		t.Add(Words, AppendEscaped(nil, s))
	}
}

// AddPicture adds an image as a data URL between open and end. If the image is left out, it
// adds the reason in words.
func (t *Turn) AddPicture(i llm.Image, p Pictures, open, end string) {
	media, why := p.Check(i, false)
	if why != "" {
		t.AddWords(why)
		return
	}
	out := append(make([]byte, 0, base64.StdEncoding.EncodedLen(len(i.Data))+96), open...)
	out = append(append(append(out, "data:"...), media...), ";base64,"...)
	t.Add(Media, append(base64.StdEncoding.AppendEncode(out, i.Data), end...))
}

// AddDocument adds the text of a text document. With pdf it adds a PDF document as open,
// its name, a data URL and end.
func (t *Turn) AddDocument(d llm.Document, pdf bool, open, end string) {
	switch {
	case d.MediaType == "text/plain" && !Blank(string(d.Data)):
		if !Blank(d.Title) {
			t.AddWords(d.Title + ":")
		}
		t.AddWords(string(d.Data))
	case d.MediaType == "application/pdf" && pdf && len(d.Data) > 0:
		title := d.Title
		if Blank(title) {
			title = "document.pdf"
		}
		out := AppendString([]byte(open), title)
		out = append(out, `,"file_data":"data:application/pdf;base64,`...)
		t.Add(Media, append(base64.StdEncoding.AppendEncode(out, d.Data), end...))
	default:
		t.AddWords(NoDocument(d))
	}
}

// AppendSpoken appends the words of a tool's result as a JSON string. If there are none, it
// appends a standard text.
func AppendSpoken(dst []byte, parts []Part, failed bool) []byte {
	dst = append(dst, '"')
	if failed {
		dst = append(dst, "Error: "...)
	}
	words, media := 0, 0
	for _, p := range parts {
		if p.Kind != Words {
			media++
			continue
		}
		if words++; words > 1 {
			dst = append(dst, `\n`...)
		}
		dst = append(dst, p.Data...)
	}
	switch {
	case words == 0 && media > 0:
		dst = append(dst, "(see the attachment below)"...)
	case words == 0 && failed:
		dst = append(dst, "the tool failed without a message"...)
	case words == 0:
		dst = append(dst, "(no output)"...)
	}
	return append(dst, '"')
}

// AddAttachments adds the media of a call's result. They follow all results, because these
// may contain only words.
func (t *Turn) AddAttachments(inside *Turn, id string) {
	if !inside.Has(Media) {
		return
	}
	t.AddWords("Attachment of the result of tool call " + id + ":")
	for _, p := range inside.Parts {
		if p.Kind == Media {
			t.Parts = append(t.Parts, p)
		}
	}
}

// AppendUserTurn appends the results among the parts, and then the message that message
// makes of the other parts. Without parts it uses [NoContent]. bridge, unless "", goes
// between the two.
func AppendUserTurn(dst []byte, parts []Part, bridge string, message func(dst []byte, parts []Part) []byte) []byte {
	start, rest := len(dst), 0
	for _, p := range parts {
		if p.Kind != Answer {
			rest++
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, p.Data...)
	}
	if rest == 0 {
		if len(dst) > start {
			return dst
		}
		parts = []Part{{Kind: Words, Data: []byte(NoContent)}}
	}
	if len(dst) > start {
		if bridge != "" {
			dst = append(append(dst, ','), bridge...)
		}
		dst = append(dst, ',')
	}
	return message(dst, parts)
}
