// Package resources connects the tools ListMcpResources and ReadMcpResource with the
// resources of MCP servers.
//
//	builtins := tools.Builtins{Resources: resources.Of(servers)}
package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tools"
)

// Of returns the resources of servers, also of those that are connected later.
// Templates are among them, and say so.
func Of(servers *mcp.Servers) tools.Resources {
	return tools.Resources(toolapi.NewHandle[toolapi.Resources](of{servers}))
}

type of struct{ servers *mcp.Servers }

func (o of) Servers() []string { return o.servers.WithResources() }

func (o of) List(ctx context.Context, server string) ([]toolapi.Resource, error) {
	found, err := o.servers.Resources(ctx, server)
	if err != nil {
		return nil, missing(err)
	}
	list := make([]toolapi.Resource, 0, len(found))
	for _, r := range found {
		if r.Template {
			r.Description = "(a template: fill in what is in braces) " + r.Description
		}
		list = append(list, toolapi.Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIMEType, Server: server})
	}
	return list, nil
}

func (o of) Read(ctx context.Context, server, uri string) ([]toolapi.ResourceContent, error) {
	found, err := o.servers.ReadResource(ctx, server, uri)
	if err != nil {
		return nil, missing(err)
	}
	list := make([]toolapi.ResourceContent, 0, len(found))
	for _, c := range found {
		list = append(list, toolapi.ResourceContent{URI: c.URI, MIMEType: c.MIMEType, Text: c.Text, Blob: c.Blob})
	}
	return list, nil
}

func missing(err error) error {
	if errors.Is(err, mcp.ErrNoServer) {
		return fmt.Errorf("%w: %w", toolapi.ErrNoServer, err)
	}
	return err
}
