package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// A depot has servers with resources.
type depot struct {
	servers  []string
	list     func(ctx context.Context, server string) ([]toolapi.Resource, error)
	contents map[string][]toolapi.ResourceContent // by server and URI
}

func (d *depot) Servers() []string { return d.servers }

func (d *depot) List(ctx context.Context, server string) ([]toolapi.Resource, error) {
	return d.list(ctx, server)
}

func (d *depot) Read(_ context.Context, server, uri string) ([]toolapi.ResourceContent, error) {
	c, ok := d.contents[server+" "+uri]
	if !ok {
		return nil, errors.New("no\nsuch resource")
	}
	return c, nil
}

func picture(t *testing.T, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 20))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func newDepot() *depot {
	return &depot{
		servers: []string{"docs", "git", "slow"},
		list: func(_ context.Context, server string) ([]toolapi.Resource, error) {
			switch server {
			case "docs":
				return []toolapi.Resource{{URI: "doc://a", Name: "A", Description: "first\nline", MIMEType: "text/plain"}, {URI: "doc://b", Name: "doc://b", Server: "git"}}, nil
			case "git":
				return nil, nil
			}
			return nil, errors.New("timed out\nafter a while")
		},
		contents: map[string][]toolapi.ResourceContent{
			"docs doc://a": {{URI: "doc://a", Text: "hello"}},
			"docs doc://b": {{URI: "doc://b/1", Text: "one"}, {URI: "doc://b/2", MIMEType: "application/zip", Blob: []byte("PK12")}, {Blob: []byte{}}},
			"docs bad":     {{URI: "bad", MIMEType: "image/png", Blob: []byte("\x89PNG\r\n\x1a\nbroken")}},
			"docs none":    {},
			"docs many":    make([]toolapi.ResourceContent, maxContents+7),
			"docs big":     {{Text: strings.Repeat("x", maxContentText+1)}},
		},
	}
}

func TestListMcpResources(t *testing.T) {
	x := newListMCPResources(newDepot())
	tooltest.Check(t, x)
	r := tooltest.Run(t, x, `{}`)
	if want := "docs: doc://a - A (text/plain): first line\ndocs: doc://b\nslow: timed out after a while"; r.IsError || r.Text() != want {
		t.Errorf("got %q", r.Text())
	}
	if want := `{"resources":[{"uri":"doc://a","name":"A","description":"first line","mimeType":"text/plain","server":"docs"},{"uri":"doc://b","name":"doc://b","server":"docs"}],"total":2}`; string(r.Details) != want {
		t.Errorf("details %s", r.Details)
	}
	for input, want := range map[string]string{
		`{"server":"git"}`:  "The MCP servers offer no resources: git",
		`{"server":"docs"}`: "docs: doc://a",
		`{"server":"slow"}`: "slow: timed out",
		`{"server":"doc"}`:  `server "doc" is unknown; did you mean "docs"?; there are docs, git, slow`,
	} {
		r := tooltest.Run(t, x, input)
		if !strings.Contains(r.Text(), want) || r.IsError != (strings.Contains(input, "slow") || strings.Contains(input, `doc"`)) {
			t.Errorf("%s: got %q (error: %v), want %q", input, r.Text(), r.IsError, want)
		}
	}
	if r := tooltest.Run(t, newListMCPResources(&depot{}), `{}`); r.Text() != "No MCP servers connected." {
		t.Errorf("got %q", r.Text())
	}
}

func TestListMcpResourcesHostile(t *testing.T) {
	d := newDepot()
	d.list = func(_ context.Context, server string) ([]toolapi.Resource, error) {
		if server == "git" {
			panic("boom")
		}
		return slices.Repeat([]toolapi.Resource{{URI: "x:\x1b[31m\x00", Name: strings.Repeat("n", 100_000), Description: strings.Repeat("d ", 100_000)}}, 1000), nil
	}
	r := tooltest.Run(t, newListMCPResources(d), `{}`)
	if len(r.Text()) > 300_000 || strings.ContainsAny(r.Text(), "\x1b\x00") || !strings.Contains(r.Text(), "git: listing its resources panicked: boom") ||
		!strings.Contains(r.Text(), "… and 1800 more; name a server to see fewer") {
		t.Errorf("%d bytes: %.200q", len(r.Text()), r.Text())
	}
}

// Many servers are asked some at a time, and a call that is cancelled waits for
// none that obeys.
func TestListMcpResourcesMany(t *testing.T) {
	d := &depot{}
	for i := range 50 {
		d.servers = append(d.servers, fmt.Sprintf("s%02d", i))
	}
	var mu sync.Mutex
	now, most := 0, 0
	d.list = func(_ context.Context, server string) ([]toolapi.Resource, error) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		defer func() { mu.Lock(); now--; mu.Unlock() }()
		return []toolapi.Resource{{URI: "u"}}, nil
	}
	r := tooltest.Run(t, newListMCPResources(d), `{}`)
	if lines := strings.Split(r.Text(), "\n"); len(lines) != 50 || lines[49] != "s49: u" || most > askedAtOnce {
		t.Errorf("%d lines, %d at once", len(lines), most)
	}
	started := make(chan struct{}, 50)
	d.list = func(ctx context.Context, _ string) ([]toolapi.Resource, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	out := toolrun.Run(ctx, newListMCPResources(d), tool.Call{ID: "c1.0", Name: "ListMcpResources", Input: json.RawMessage(`{}`)}, time.Minute)
	if !out.Result.IsError || out.Err != nil {
		t.Errorf("%+v", out)
	}
}

func TestReadMcpResource(t *testing.T) {
	d := newDepot()
	d.contents["docs img"] = []toolapi.ResourceContent{{URI: "img", MIMEType: "text/html", Blob: picture(t, 1568+32)}}
	d.contents["docs pictures"] = slices.Repeat([]toolapi.ResourceContent{{Blob: picture(t, 4)}}, maxImages+3)
	x := newReadMCPResource(d)
	tooltest.Check(t, x)
	for _, c := range []struct {
		server, uri, want string
		fails             bool
	}{
		{"docs", "doc://a", "hello\n", false},
		{"docs", "doc://b", "doc://b/1:\none\ndoc://b/2:\n[4 bytes of application/zip]\ndoc://b:\n[0 bytes of an unknown type]\n", false},
		{"docs", "bad", "[an image (image/png) of 14 bytes that cannot be shown]\n", false},
		{"docs", "none", "The resource is empty.", false},
		{"docs", "zzz", "reading zzz from the server docs: no such resource", true},
		{"docs", "", "uri must have 1 to 4000 bytes", true},
		{"docs", strings.Repeat("u", maxURI+1), "uri must have", true},
		{"docs", "big", "more than 10000000 bytes of text", true},
		{"other", "doc://a", `server "other" is unknown; there are docs, git, slow`, true},
	} {
		r := tooltest.Run(t, x, map[string]string{"server": c.server, "uri": c.uri})
		if r.IsError != c.fails || !strings.Contains(r.Text(), c.want) || !c.fails && r.Text() != c.want {
			t.Errorf("%s %.40s: got %.300q, want %q", c.server, c.uri, r.Text(), c.want)
		}
	}
	r := tooltest.Run(t, x, `{"server":"docs","uri":"img"}`)
	img, ok := r.Content[len(r.Content)-1].(llm.Image)
	if config, err := png.DecodeConfig(bytes.NewReader(img.Data)); !ok || err != nil || config.Width != 1568 || img.MediaType != "image/png" {
		t.Errorf("image %v, %v, %v", ok, config, err)
	}
	if want := `{"images":1,"parts":1,"server":"docs","uri":"img"}`; string(r.Details) != want {
		t.Errorf("details %s", r.Details)
	}
	if text := tooltest.Run(t, x, `{"server":"docs","uri":"many"}`).Text(); !strings.HasSuffix(text, "… and 7 more parts\n") {
		t.Errorf("got %q", text)
	}
	images := 0
	r = tooltest.Run(t, x, `{"server":"docs","uri":"pictures"}`)
	for _, b := range r.Content {
		if _, ok := b.(llm.Image); ok {
			images++
		}
	}
	if images != maxImages {
		t.Errorf("%d images", images)
	}
	if r := tooltest.Run(t, newReadMCPResource(&depot{}), `{"server":"a","uri":"b"}`); !r.IsError || r.Text() != "No MCP servers connected." {
		t.Errorf("got %q", r.Text())
	}
}

func TestMcpResourcesClass(t *testing.T) {
	d := newDepot()
	for _, c := range []struct {
		tool    tool.Tool
		input   string
		servers string
	}{
		{newListMCPResources(d), `{}`, "docs git slow"},
		{newListMCPResources(d), `{"server":"git"}`, "git"},
		{newReadMCPResource(d), `{"server":"docs","uri":"x"}`, "docs"},
		{newReadMCPResource(d), `{"server":"","uri":"x"}`, ""},
	} {
		class := toolrun.Classify(c.tool, tool.Call{Input: json.RawMessage(c.input)})
		var servers []string
		for _, a := range class.Access {
			if a.Kind != permission.UseName {
				t.Errorf("%+v", a)
			}
			servers = append(servers, a.Target)
		}
		if got := strings.Join(servers, " "); got != c.servers || !class.ReadOnly {
			t.Errorf("%s %s: %+v", c.tool.Spec().Name, c.input, class)
		}
	}
}
