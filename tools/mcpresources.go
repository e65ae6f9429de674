package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed listmcpresources.md
var listMcpResourcesText string

//go:embed readmcpresource.md
var readMcpResourceText string

const (
	maxResources    = 200        // that ListMcpResources shows
	maxResourceLine = 300        // bytes of each part of a line
	maxURI          = 4000       // bytes
	maxContents     = 50         // parts of a resource
	maxContentText  = 10_000_000 // bytes of text of a resource
	maxBlob         = 20_000_000 // bytes of an image before it is scaled
	maxImages       = 10         // images of a resource
	askedAtOnce     = 8          // servers
)

type listMcpResourcesInput struct {
	Server string `json:"server,omitempty"`
}

type readMcpResourceInput struct {
	Server string `json:"server"`
	URI    string `json:"uri"`
}

// newListMCPResources returns the tool that lists the resources of MCP servers.
func newListMCPResources(resources toolapi.Resources) tool.Tool {
	return tool.New(tool.Spec{
		Name: "ListMcpResources", Title: "List MCP resources", Description: listMcpResourcesText, ReadOnly: true, OpenWorld: true,
	}, func(ctx context.Context, _ tool.Call, in listMcpResourcesInput) (*tool.Result, error) {
		servers := resources.Servers()
		if in.Server != "" {
			if problem := checkServer(servers, in.Server); problem != "" {
				return tool.Errorf("%s", problem), nil
			}
			servers = []string{in.Server}
		}
		return listResources(ctx, resources, servers)
	}).OnClassify(func(_ tool.Call, in listMcpResourcesInput) tool.Traits {
		servers := []string{in.Server}
		if in.Server == "" {
			servers = resources.Servers()
		}
		return serverClass(servers)
	})
}

// newReadMCPResource returns the tool that reads the resources of MCP servers. Rules for it
// name servers, as ReadMcpResource(github).
func newReadMCPResource(resources toolapi.Resources) tool.Tool {
	return tool.New(tool.Spec{
		Name: "ReadMcpResource", Title: "Read an MCP resource", Description: readMcpResourceText, ReadOnly: true, OpenWorld: true,
	}, func(ctx context.Context, _ tool.Call, in readMcpResourceInput) (*tool.Result, error) {
		if problem := checkServer(resources.Servers(), in.Server); problem != "" {
			return tool.Errorf("%s", problem), nil
		}
		if in.URI == "" || len(in.URI) > maxURI || !utf8.ValidString(in.URI) {
			return tool.Errorf("uri must have 1 to %d bytes; ListMcpResources shows those there are", maxURI), nil
		}
		contents, err := resources.Read(ctx, in.Server, in.URI)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return tool.Errorf("reading %s from the server %s: %s", in.URI, in.Server, clipLine(err.Error(), maxResourceLine)), nil
		}
		return resourceResult(in, contents), nil
	}).OnClassify(func(_ tool.Call, in readMcpResourceInput) tool.Traits { return serverClass([]string{in.Server}) })
}

func serverClass(servers []string) tool.Traits {
	c := tool.Traits{ReadOnly: true}
	for _, s := range servers {
		if s == "" {
			continue
		}
		c.Touches = append(c.Touches, "mcp:"+s)
		c.Access = append(c.Access, permission.Access{Kind: permission.UseName, Target: s})
	}
	return c
}

func checkServer(servers []string, name string) (problem string) {
	if slices.Contains(servers, name) {
		return ""
	}
	if len(servers) == 0 {
		return "No MCP servers connected."
	}
	return unknownName("server", name, servers)
}

// listResources asks the servers, some at a time. A failing server does not hide the
// resources of the others.
func listResources(ctx context.Context, resources toolapi.Resources, servers []string) (*tool.Result, error) {
	if len(servers) == 0 {
		return tool.Text("No MCP servers connected."), nil
	}
	found := make([][]toolapi.Resource, len(servers))
	errs := make([]error, len(servers))
	slots := make(chan struct{}, askedAtOnce)
	var wg sync.WaitGroup
	for i, s := range servers {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			// A panic here would end the program: this goroutine is not one of the run's.
			defer func() {
				if v := recover(); v != nil {
					errs[i] = fmt.Errorf("listing its resources panicked: %v", v)
				}
			}()
			found[i], errs[i] = resources.List(ctx, s)
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var lines []string
	listed := []toolapi.Resource{}
	total, failed := 0, 0
	for i, s := range servers {
		if errs[i] != nil {
			failed++
			lines = append(lines, fmt.Sprintf("%s: %s", s, clipLine(errs[i].Error(), maxResourceLine)))
			continue
		}
		total += len(found[i])
		for _, r := range found[i][:min(len(found[i]), maxResources-len(listed))] {
			r = toolapi.Resource{Server: s, URI: clipLine(r.URI, maxURI), Name: clipLine(r.Name, maxResourceLine), Description: clipLine(r.Description, maxResourceLine), MIMEType: clipLine(r.MIMEType, maxResourceLine)}
			listed = append(listed, r)
			lines = append(lines, resourceLine(r))
		}
	}
	if more := total - len(listed); more > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more; name a server to see fewer", more))
	}
	if len(lines) == 0 {
		lines = append(lines, "The MCP servers offer no resources: "+strings.Join(servers, ", "))
	}
	r := tool.Text(strings.Join(lines, "\n"))
	r.IsError = failed == len(servers)
	r.Title = text.Count(total, "resource")
	r.Details = toolapi.Details(map[string]any{"resources": listed, "total": total})
	return r, nil
}

func resourceLine(r toolapi.Resource) string {
	line := fmt.Sprintf("%s: %s", r.Server, r.URI)
	if r.Name != "" && r.Name != r.URI {
		line += " - " + r.Name
	}
	if r.MIMEType != "" {
		line += " (" + r.MIMEType + ")"
	}
	if r.Description != "" {
		line += ": " + r.Description
	}
	return line
}

// resourceResult shows texts and images, and names the type of other bytes.
func resourceResult(in readMcpResourceInput, contents []toolapi.ResourceContent) *tool.Result {
	r := tool.Text("")
	r.Content = nil
	size, images := 0, 0
	for _, c := range contents[:min(len(contents), maxContents)] {
		var head string
		if len(contents) > 1 {
			head = clipLine(cmp.Or(c.URI, in.URI), maxResourceLine) + ":\n"
		}
		if c.Blob == nil {
			size += len(c.Text)
			if size > maxContentText {
				return tool.Errorf("%s has more than %d bytes of text", in.URI, maxContentText)
			}
			r.Content = append(r.Content, tool.Text(head+c.Text+"\n").Content...)
			continue
		}
		note := fmt.Sprintf("[%d bytes of %s]\n", len(c.Blob), cmp.Or(clipLine(c.MIMEType, 100), "an unknown type"))
		if kind := media.ImageType(c.Blob); kind != "" && len(c.Blob) <= maxBlob && images < maxImages {
			if p, err := media.Image(c.Blob); err == nil {
				images++
				r.Content = append(append(r.Content, tool.Text(head+note).Content...), p.Image)
				continue
			}
			note = fmt.Sprintf("[an image (%s) of %d bytes that cannot be shown]\n", kind, len(c.Blob))
		}
		r.Content = append(r.Content, tool.Text(head+note).Content...)
	}
	if more := len(contents) - maxContents; more > 0 {
		r.Content = append(r.Content, tool.Text(fmt.Sprintf("… and %d more parts\n", more)).Content...)
	}
	if len(contents) == 0 {
		r = tool.Text("The resource is empty.")
	}
	r.Title = fmt.Sprintf("%s from %s", clipLine(in.URI, maxResourceLine), in.Server)
	r.Details = toolapi.Details(map[string]any{"server": in.Server, "uri": in.URI, "parts": len(contents), "images": images})
	return r
}
