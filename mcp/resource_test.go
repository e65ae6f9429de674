//go:build unix

package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/mcp/resources"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// library is a server with resources and prompts.
func library() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "library", Version: "1"}, &sdk.ServerOptions{PageSize: 50,
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil }})
	read := func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		c := &sdk.ResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "about " + r.Params.URI + "\n</mcp-resource>"}
		switch {
		case strings.HasSuffix(r.Params.URI, "picture"):
			c = &sdk.ResourceContents{URI: r.Params.URI, MIMEType: "image/png", Blob: []byte("\x89PNG\r\n\x1a\n....")}
		case strings.HasSuffix(r.Params.URI, "missing"):
			return nil, sdk.ResourceNotFoundError(r.Params.URI)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
	}
	for i := range 120 {
		server.AddResource(&sdk.Resource{URI: fmt.Sprintf("book://shelf/%03d", i), Name: fmt.Sprint("book ", i)}, read)
	}
	server.AddResource(&sdk.Resource{URI: "book://picture", Name: "picture"}, read)
	server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "book://page/{n}", Name: "page"}, read)
	server.AddPrompt(&sdk.Prompt{Name: "summary.of", Description: "It sums up.", Arguments: []*sdk.PromptArgument{{Name: "book", Required: true}, {Name: "style"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: fmt.Sprintf("Sum up %q as %q.", r.Params.Arguments["book"], r.Params.Arguments["style"])}},
				{Role: "assistant", Content: &sdk.TextContent{Text: "I will."}}, {Role: "user", Content: &sdk.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n....")}}}}, nil
		})
	return server
}

// Resources are listed with all pages and templates, read, and mentioned in prompts;
// the tools of the kit work on them.
func TestResources(t *testing.T) {
	t.Parallel()
	all, _ := connect(t, map[string]mcp.Config{"library": onNetwork(t, library()), "plain": onNetwork(t, network()), "here": {Tools: []tool.Tool{weather()}}})
	if got := all.WithResources(); !reflect.DeepEqual(got, []string{"library"}) {
		t.Error(got)
	}
	list, err := all.Resources(t.Context(), "library")
	if err != nil || len(list) != 122 || list[121].URI != "book://page/{n}" || !list[121].Template {
		t.Errorf("%d %v", len(list), err)
	}
	for server, want := range map[string]string{"nobody": "there is no such server", "plain": "offers no resources", "here": "has only tools"} {
		if _, err := all.Resources(t.Context(), server); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", server, err)
		}
	}
	if c, err := all.ReadResource(t.Context(), "library", "book://page/7"); err != nil || len(c) != 1 || !strings.HasPrefix(c[0].Text, "about book://page/7") {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := all.ReadResource(t.Context(), "library", "book://missing"); err == nil || !strings.Contains(err.Error(), "answered") {
		t.Error(err)
	}
	kit := tools.Builtins{Resources: resources.Of(all)}
	var pool []tool.Tool
	for _, e := range kit.Tools() {
		pool = append(pool, e.Tool)
	}
	if out := call(t, pool, "ListMcpResources", `{}`); out.Result.IsError || !strings.Contains(out.Result.Text(), "library: book://shelf/000") || !strings.Contains(out.Result.Text(), "a template") {
		t.Errorf("%s", out.Result.Text())
	}
	if out := call(t, pool, "ReadMcpResource", `{"server":"library","uri":"book://shelf/003"}`); !strings.HasPrefix(out.Result.Text(), "about book://shelf/003") {
		t.Errorf("%s", out.Result.Text())
	}
	blocks, err := all.Mentions(t.Context(), "Look at @library:book://shelf/001, (@library:book://picture) @library:book://shelf/001 and @library:book://missing; mail me@library:x, @other:y")
	if err == nil || !strings.Contains(err.Error(), "book://missing") || len(blocks) != 3 {
		t.Fatalf("%d %v", len(blocks), err)
	}
	if text := blocks[0].(llm.Text).Text; strings.Count(text, "</mcp-resource>") != 1 || !strings.HasPrefix(text, `<mcp-resource server="library" uri="book://shelf/001">`) {
		t.Error(text)
	}
	if _, ok := blocks[1].(llm.Image); !ok {
		t.Errorf("%T", blocks[1])
	}
	if none, err := all.Mentions(t.Context(), "nothing @ all, @library, @library:"); len(none) != 0 || err != nil {
		t.Error(none, err)
	}
}

// A subscriber hears about changes of the resource, also after a new connection.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	server := library()
	told := make(chan string, 100)
	all := mcp.New(map[string]mcp.Config{"library": onNetwork(t, server), "plain": onNetwork(t, network())}, mcp.Options{Updated: func(server, uri string) { told <- server + " " + uri }})
	defer all.Close()
	if err := all.Subscribe(t.Context(), "plain", "x"); err == nil || !strings.Contains(err.Error(), "does not report changes") {
		t.Error(err)
	}
	for i := range 2 {
		if i > 0 {
			if err := all.Reconnect(t.Context(), "library"); err != nil {
				t.Fatal(err)
			}
		} else if err := all.Subscribe(t.Context(), "library", "book://picture"); err != nil {
			t.Fatal(err)
		}
		if err := server.ResourceUpdated(t.Context(), &sdk.ResourceUpdatedNotificationParams{URI: "book://picture"}); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-told:
			if got != "library book://picture" {
				t.Error(got)
			}
		case <-time.After(soon):
			t.Fatal("nothing is told")
		}
	}
	if err := all.Unsubscribe(t.Context(), "library", "book://picture"); err != nil {
		t.Error(err)
	}
}

// Prompts of servers have names as tools have, and take words.
func TestPrompts(t *testing.T) {
	t.Parallel()
	all, _ := connect(t, map[string]mcp.Config{"library": onNetwork(t, library()), "plain": onNetwork(t, network()), "dies": {Command: "no-such-program"}})
	list := all.Prompts()
	if len(list) != 1 || list[0].Name != "mcp__library__summary_of" || list[0].Usage() != "/mcp__library__summary_of BOOK [STYLE]" {
		t.Fatalf("%+v", list)
	}
	for args, want := range map[string]string{
		`Emma`: `"Emma" as ""`, `"Moby Dick" short and dry`: `"Moby Dick" as "short and dry"`, `style=long 'War "and" Peace'`: `"War \"and\" Peace" as "long"`, `a\ b "" `: `"a b" as ""`,
	} {
		blocks, err := all.Prompt(t.Context(), "mcp__library__summary_of", args)
		if err != nil || len(blocks) != 4 || !strings.Contains(blocks.Text(), want) || !strings.Contains(blocks.Text(), "[the assistant:]") {
			t.Errorf("%s: %+v %v", args, blocks, err)
		}
	}
	for name, want := range map[string]string{"mcp__library__summary_of|": "needs the argument book: /mcp__library__summary_of BOOK [STYLE]", "mcp__library__summary_of|'x": "not closed",
		"mcp__library__none|": "no such prompt", "mcp__dies__x|": "not connected"} {
		name, args, _ := strings.Cut(name, "|")
		if _, err := all.Prompt(t.Context(), name, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := all.Prompt(t.Context(), "mcp__nobody__x", ""); !errors.Is(err, mcp.ErrNoPrompt) {
		t.Error(err)
	}
}
