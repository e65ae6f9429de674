package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/web"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// readPage reads the body of an answer, as much of it as may be read.
func readPage(ctx context.Context, u *url.URL, resp *http.Response) (*fetched, error) {
	p := &fetched{final: u, status: resp.StatusCode, contentType: web.Line(resp.Header.Get("Content-Type"), 200)}
	kind := mediaType(p.contentType)
	limit := maxPage
	if resp.StatusCode/100 != 2 {
		limit = maxRefusal
	}
	switch top, _, _ := strings.Cut(kind, "/"); {
	case !plainCoding(resp.Header.Get("Content-Encoding")):
		p.refusal = "it is encoded in a way that was not asked for: " + web.Line(resp.Header.Get("Content-Encoding"), 50)
		return p, nil
	case top == "audio" || top == "video" || top == "font":
		p.refusal = "it is of type " + kind + ", which cannot be shown"
		return p, nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("reading the page: %w", err)
	}
	if p.truncated = len(data) > limit; p.truncated {
		data = data[:limit]
	}
	p.bytes = len(data)
	return p, p.show(ctx, kind, data)
}

// plainCoding reports whether a body is as it should be: the transport undoes
// the compression that it asks for, and takes the header away.
func plainCoding(coding string) bool { return coding == "" || strings.EqualFold(coding, "identity") }

// mediaType returns the media type in a Content-Type, "" for none that says anything.
func mediaType(header string) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil && kind == "" || kind == "application/octet-stream" {
		return ""
	}
	return kind
}

// show makes a result of a body: by its content if that is not text, else by its media
// type.
func (p *fetched) show(ctx context.Context, kind string, data []byte) error {
	image := media.ImageType(data)
	pdf := media.IsPDF(data)
	switch {
	case (image != "" || pdf) && p.truncated:
		p.refusal = fmt.Sprintf("it is an image or a document of more than %d MB", maxPage>>20)
		return nil
	case image != "":
		p.showMedia(showImage(p.final.String(), image, data))
		return nil
	case pdf:
		p.showMedia(showPDF(p.final.String(), data))
		return nil
	}
	text := decodePage(data, p.contentType, p.truncated)
	if kind == "" {
		kind = mediaType(http.DetectContentType(data))
	}
	if binaryText(text) {
		p.refusal = fmt.Sprintf("it is binary (%s), which cannot be shown", wire.First(kind, binaryType(data)))
		return nil
	}
	if kind != "text/html" && kind != "application/xhtml+xml" {
		p.text = text
		return nil
	}
	page, err := web.Convert(ctx, []byte(text), p.final)
	if err != nil {
		return err
	}
	p.title, p.text = page.Title, page.Text
	p.truncated = p.truncated || page.Truncated
	return nil
}

// showMedia takes an image or a document over from the result that shows it.
func (p *fetched) showMedia(r *tool.Result) {
	if r.IsError {
		p.refusal = r.Text()
		return
	}
	p.text = r.Text()
	for _, b := range r.Content {
		switch b := b.(type) {
		case llm.Document:
			b.Title = path.Base(p.final.Path)
			p.media = append(p.media, b)
		case llm.Image:
			p.media = append(p.media, b)
		}
	}
}

// decodePage returns the text of a body in UTF-8. The encoding is that of its byte order
// mark, or the charset of its header or of its beginning. Else it is UTF-8 or, if that is
// not valid, Windows-1252, as in browsers.
func decodePage(data []byte, contentType string, truncated bool) string {
	enc, name, certain := charset.DetermineEncoding(data, contentType)
	if name == "utf-8" || !certain && validUTF8(data, truncated) {
		return strings.ToValidUTF8(string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), "\uFFFD")
	}
	text, err := enc.NewDecoder().Bytes(data)
	if err != nil {
		text = data
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\uFFFD"), "\uFEFF")
}

// validUTF8 reports whether data is UTF-8; in truncated data the last character
// may be cut.
func validUTF8(data []byte, truncated bool) bool {
	for i := 0; truncated && i < utf8.UTFMax-1 && !utf8.Valid(data) && len(data) > 0; i++ {
		data = data[:len(data)-1]
	}
	return utf8.Valid(data)
}

const maxRefusalText = 2000 // bytes of the body of an error that are shown

// result shows a page that was asked for as u, with a question about it.
func (p *fetched) result(u *url.URL, prompt string, cached bool) *tool.Result {
	r := tool.Text(p.head(u, cached) + p.body())
	r.Content = append(r.Content, p.media...)
	r.Title = fmt.Sprintf("Fetched %s (%s)", u.Host+u.Path, text.Count(p.bytes, "byte"))
	r.IsError = p.moved == nil && p.status/100 != 2 || p.refusal != ""
	if r.IsError {
		r.Title = fmt.Sprintf("%s: %d %s", u.Host+u.Path, p.status, http.StatusText(p.status))
	}
	if !r.IsError && p.moved == nil && p.media == nil {
		r.Digest = strings.TrimSpace(prompt)
	}
	info := pageDetails{u.String(), p.final.String(), "", p.status, p.contentType, p.title, p.bytes, cached, p.truncated}
	if p.moved != nil {
		info.Redirect = p.moved.String()
		r.Title = fmt.Sprintf("%s redirects to %s", u.Host, p.moved.Host)
	}
	r.Details = toolapi.Details(info)
	return r
}

// head describes the fetched page, a line each.
func (p *fetched) head(u *url.URL, cached bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "URL: %s\n", u)
	if p.final.String() != u.String() {
		fmt.Fprintf(&b, "Redirected to: %s\n", p.final)
	}
	fmt.Fprintf(&b, "Status: %d %s\n", p.status, http.StatusText(p.status))
	if p.title != "" {
		fmt.Fprintf(&b, "Title: %s\n", p.title)
	}
	if p.moved == nil {
		fmt.Fprintf(&b, "Content: %s, %d bytes", wire.First(p.contentType, "no type given"), p.bytes)
		if p.truncated {
			b.WriteString(", too large to be shown as a whole: the end is missing")
		}
		b.WriteByte('\n')
	}
	if cached {
		fmt.Fprintf(&b, "Cached: fetched less than %d minutes ago\n", int(keepPages.Minutes()))
	}
	return b.String() + "\n"
}

func (p *fetched) body() string {
	switch {
	case p.moved != nil:
		return fmt.Sprintf("The page redirects to another host, which is not followed. To see it, fetch %s\n", p.moved)
	case p.refusal != "":
		return "The page cannot be shown: " + p.refusal + "\n"
	case strings.TrimSpace(p.text) == "":
		return "(There is no text in the page. It may need JavaScript or a login.)\n"
	case p.status/100 != 2 && len(p.text) > maxRefusalText:
		return text.Bytes(p.text, maxRefusalText) + "\n"
	case strings.HasSuffix(p.text, "\n"):
		return p.text
	}
	return p.text + "\n"
}

// pageDetails are the Details of a result of WebFetch.
type pageDetails struct {
	URL         string `json:"url"`
	FinalURL    string `json:"finalUrl"`
	Redirect    string `json:"redirect,omitempty"` // another host, not followed
	Status      int    `json:"status"`
	ContentType string `json:"contentType"`
	Title       string `json:"title,omitempty"`
	Bytes       int    `json:"bytes"`
	Cached      bool   `json:"cached"`
	Truncated   bool   `json:"truncated"`
}
