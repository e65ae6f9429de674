package customtools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // sizes of GIFs
	_ "image/jpeg" // sizes of JPEGs
	_ "image/png"  // sizes of PNGs
	"net/http"
	"slices"
	"strings"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

const (
	maxOutput  = 32 << 20 // bytes that run may write
	maxDetails = 1 << 20
	maxImage   = 5 << 20 / 4 * 3 // bytes; providers take 5 MB of base64
	maxSide    = 8000            // pixels that providers take
	maxPDF     = 20 << 20
	maxBlocks  = 100
)

// A Tool is a tool of a file.
type Tool struct {
	*tool.Typed[json.RawMessage]
	File   string // its path, without symlinks above its name
	Folder Folder // as the [Set] has it
}

// tool makes a tool of a part of a file.
func (s *Set) tool(f file, p part) (t *Tool, err error) {
	defer func() {
		if v := recover(); v != nil { // a schema that no checker can be made of
			err = fmt.Errorf("%v", v)
		}
	}()
	if p.spec.Input == nil {
		p.spec.Input = json.RawMessage(`{"type":"object"}`)
	}
	return &Tool{tool.New(p.spec, func(ctx context.Context, call tool.Call, _ json.RawMessage) (*tool.Result, error) {
		return s.call(ctx, f, p, call)
	}), f.path, f.folder}, nil
}

// request is a call as a file reads it.
type request struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Session string          `json:"session"`
	Dir     string          `json:"dir"`
}

func (s *Set) call(ctx context.Context, f file, p part, call tool.Call) (*tool.Result, error) {
	if err := s.unchanged(f); err != nil {
		return tool.Errorf("%s was not run: %v", p.spec.Name, err), nil
	}
	input, err := json.Marshal(request{call.ID, call.Name, call.Input, call.Session, call.Dir})
	if err != nil {
		return nil, fmt.Errorf("encoding the call of %s: %w", p.spec.Name, err)
	}
	start := process{args: []string{f.path, "run"}, dir: call.Dir, input: append(input, '\n'), max: maxOutput,
		line: func(line string) { tool.Progress(ctx, tool.Status{Text: line}) }}
	if p.arg != "" {
		start.args = append(start.args, p.arg)
	}
	code, err := start.run(ctx, s.Workspace)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return tool.Errorf("%s failed: %v", p.spec.Name, err), nil
	}
	r, err := result(start.stdout.Bytes())
	if err != nil {
		return tool.Errorf("%s wrote a result that cannot be used: %v", p.spec.Name, err), nil
	}
	if code != 0 {
		r.IsError = true
		note := fmt.Sprintf("[exit code %d]%s", code, start.stderr.after("\n"))
		if len(r.Content) > 0 {
			note = "\n" + note
		}
		r.Content = append(r.Content, llm.Text{Text: note})
	}
	if len(r.Content) == 0 {
		r.Content = tool.Text("(no output)").Content
	}
	return r, nil
}

// answer is the form of a result.
type answer struct {
	Text    *string         `json:"text"`
	Content json.RawMessage `json:"content"`
	Title   string          `json:"title"`
	Details json.RawMessage `json:"details"`
	IsError bool            `json:"is_error"`
}

// result reads the output of run. An object of another form is plain text.
func result(out []byte) (*tool.Result, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(out, &members) != nil || members["text"] == nil && members["content"] == nil {
		return plain(out), nil
	}
	for name := range members {
		if !slices.Contains([]string{"text", "content", "title", "details", "is_error"}, name) {
			return plain(out), nil
		}
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		return nil, err
	}
	r := &tool.Result{Title: oneLine(a.Title, maxTitle), IsError: a.IsError}
	if a.Text != nil {
		r.Content = append(r.Content, llm.Text{Text: *a.Text})
	}
	more, err := blocks(a.Content)
	if err != nil {
		return nil, err
	}
	r.Content = append(r.Content, more...)
	if a.Details == nil || string(a.Details) == "null" {
		return r, nil
	}
	var object map[string]json.RawMessage
	switch {
	case len(a.Details) > maxDetails:
		return nil, fmt.Errorf("its details have more than %d bytes", maxDetails)
	case json.Unmarshal(a.Details, &object) != nil:
		return nil, errors.New("its details are not a JSON object")
	}
	r.Details = a.Details
	return r, nil
}

func plain(out []byte) *tool.Result {
	if len(bytes.TrimSpace(out)) == 0 {
		return new(tool.Result)
	}
	return tool.Text(string(out))
}

// blocks reads content: a string, or blocks of the kinds that a tool may return.
func blocks(content json.RawMessage) (llm.Blocks, error) {
	if content == nil || string(content) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return llm.Blocks{llm.Text{Text: text}}, nil
	}
	var all llm.Blocks
	if err := json.Unmarshal(content, &all); err != nil {
		return nil, fmt.Errorf("its content: %w", err)
	}
	if len(all) > maxBlocks {
		return nil, fmt.Errorf("its content has more than %d blocks", maxBlocks)
	}
	for i, b := range all {
		if err := check(b); err != nil {
			return nil, fmt.Errorf("block %d of its content: %w", i+1, err)
		}
	}
	return all, nil
}

// check refuses blocks that providers would refuse: they would make every later request
// fail.
func check(b llm.Block) error {
	switch b := b.(type) {
	case llm.Text:
		return nil
	case llm.Image:
		return checkImage(b)
	case llm.Document:
		return checkDocument(b)
	}
	return errors.New("it is not a text, an image or a document")
}

func checkImage(b llm.Image) error {
	switch kind := http.DetectContentType(b.Data); {
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, b.MediaType):
		return fmt.Errorf("an image cannot be of type %.50q", b.MediaType)
	case kind != b.MediaType:
		return fmt.Errorf("it is %s, not %s", kind, b.MediaType)
	case len(b.Data) > maxImage:
		return fmt.Errorf("the image has more than %d bytes", maxImage)
	case kind == "image/webp": // whose size only another module could tell
		return nil
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(b.Data))
	if err == nil && (config.Width > maxSide || config.Height > maxSide || config.Width == 0 || config.Height == 0) {
		err = fmt.Errorf("%d×%d pixels; each side may have up to %d", config.Width, config.Height, maxSide)
	}
	if err != nil {
		return fmt.Errorf("the image cannot be shown: %w", err)
	}
	return nil
}

func checkDocument(b llm.Document) error {
	switch {
	case len(b.Data) > maxPDF:
		return fmt.Errorf("the document has more than %d MB", maxPDF>>20)
	case b.MediaType == "application/pdf" && bytes.HasPrefix(b.Data, []byte("%PDF-")):
		return nil
	case b.MediaType == "text/plain" && strings.HasPrefix(http.DetectContentType(b.Data), "text/plain"):
		return nil
	}
	return fmt.Errorf("a document must be application/pdf or text/plain and have that content, not %.50q", b.MediaType)
}
