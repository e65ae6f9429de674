package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/text"
)

const (
	maxResources = 1000 // of a list
	maxURI       = 4000 // bytes
)

// A Resource is something that a server lets others read.
type Resource struct {
	URI         string
	Name        string // for programs and people
	Description string // may be empty
	MIMEType    string // such as text/plain; may be empty
	// Template: the URI is a template of RFC 6570, whose parts in braces are to be
	// filled in before it is read.
	Template bool
}

// A Content is a part of a resource: text, or bytes if Blob is not nil.
type Content struct {
	URI      string // of the resource
	MIMEType string // such as text/plain; may be empty
	Text     string // of the resource, if it is a text
	Blob     []byte
}

// errNoResources is the error for a server that has none.
var errNoResources = errors.New("the server offers no resources")

// WithResources returns the names of the connected servers that offer resources,
// sorted.
func (all *Servers) WithResources() []string {
	servers := all.sorted()
	all.mu.Lock()
	defer all.mu.Unlock()
	list := []string{}
	for _, s := range servers {
		if s.session != nil && s.session.capabilities().Resources != nil {
			list = append(list, s.name)
		}
	}
	return list
}

// Resources returns the first 1000 resources of a server and, after them, its
// templates. It fails with [ErrNoServer] for a name that no server has.
func (all *Servers) Resources(ctx context.Context, server string) ([]Resource, error) {
	var list []Resource
	err := all.ask(ctx, server, func(ctx context.Context, ses *session) error {
		list = nil
		if ses.capabilities().Resources == nil {
			return errNoResources
		}
		err := pages(func(cursor string) (string, error) {
			page, err := ses.client.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
			if err != nil {
				return "", err
			}
			for _, r := range present(page.Resources) {
				if len(r.URI) <= maxURI { // others cannot be read
					list = append(list, Resource{URI: r.URI, Name: line(r.Name), Description: told(r.Description), MIMEType: line(r.MIMEType)})
				}
			}
			return page.NextCursor, enough(len(list))
		})
		if err != nil && !errors.Is(err, errEndless) { // the earlier pages are there
			return fmt.Errorf("listing resources: %w", err)
		}
		templates, err := ses.client.ListResourceTemplates(ctx, nil)
		if answer(err) != "" { // servers without templates need not know of them
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing templates of resources: %w", err)
		}
		first := present(templates.ResourceTemplates)
		for _, r := range first[:min(len(first), maxResources)] {
			if len(r.URITemplate) <= maxURI {
				list = append(list, Resource{URI: r.URITemplate, Name: line(r.Name), Description: told(r.Description), MIMEType: line(r.MIMEType), Template: true})
			}
		}
		return nil
	})
	return list, err
}

// ReadResource reads a resource of a server.
func (all *Servers) ReadResource(ctx context.Context, server, uri string) ([]Content, error) {
	if uri == "" || len(uri) > maxURI {
		return nil, fmt.Errorf("the URI must have 1 to %d bytes", maxURI)
	}
	var list []Content
	err := all.ask(ctx, server, func(ctx context.Context, ses *session) error {
		if ses.capabilities().Resources == nil {
			return errNoResources
		}
		res, err := ses.client.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			return err
		}
		list = nil
		for _, c := range res.Contents {
			if c != nil {
				list = append(list, Content{URI: c.URI, MIMEType: c.MIMEType, Text: c.Text, Blob: c.Blob})
			}
		}
		return nil
	})
	return list, err
}

// Subscribe has a server tell of changes of a resource, see Options.Updated. It lasts
// until Unsubscribe, over new connections.
func (all *Servers) Subscribe(ctx context.Context, server, uri string) error {
	err := all.ask(ctx, server, func(ctx context.Context, ses *session) error {
		if c := ses.capabilities().Resources; c == nil || !c.Subscribe {
			return errors.New("the server does not report changes of its resources")
		}
		return ses.client.Subscribe(ctx, &sdk.SubscribeParams{URI: uri})
	})
	if err != nil {
		return err
	}
	all.subscribed(server, func(uris []string) []string {
		if slices.Contains(uris, uri) {
			return uris
		}
		return append(uris, uri)
	})
	return nil
}

// Unsubscribe undoes Subscribe.
func (all *Servers) Unsubscribe(ctx context.Context, server, uri string) error {
	all.subscribed(server, func(uris []string) []string {
		return slices.DeleteFunc(uris, func(u string) bool { return u == uri })
	})
	return all.ask(ctx, server, func(ctx context.Context, ses *session) error {
		return ses.client.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: uri})
	})
}

func (all *Servers) subscribed(server string, change func([]string) []string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s := all.servers[server]; s != nil {
		s.subscriptions = change(slices.Clone(s.subscriptions))
	}
}

// subscribe renews the subscriptions with a new connection.
func (s *server) subscribe(ctx context.Context, ses *session) {
	s.all.mu.Lock()
	uris := s.subscriptions
	s.all.mu.Unlock()
	for _, uri := range uris {
		if err := ses.client.Subscribe(ctx, &sdk.SubscribeParams{URI: uri}); err != nil {
			s.all.options.log().Warn("an MCP server does not renew a subscription", "server", s.name, "uri", line(uri), "error", s.sanitize(err.Error()))
		}
	}
}

// ask has fn ask a server, with its timeout, and once more where it cannot have been
// asked because its session was over.
func (all *Servers) ask(ctx context.Context, name string, fn func(context.Context, *session) error) error {
	all.Start()
	all.mu.Lock()
	s := all.servers[name]
	all.mu.Unlock()
	if s == nil {
		return fmt.Errorf("%q: %w", text.Bytes(name, 100), ErrNoServer)
	}
	err := s.request(ctx, fn)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case answer(err) != "":
		return fmt.Errorf("the MCP server %s answered: %s", s.name, s.sanitize(answer(err)))
	}
	return fmt.Errorf("the MCP server %s: %w", s.name, redacted(s, err))
}

// redacted is an error without the secrets of the configuration.
func redacted(s *server, err error) error {
	if text := s.sanitize(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

func (s *server) request(ctx context.Context, fn func(context.Context, *session) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.timeout(), errSilent)
	defer cancel()
	if s.local() {
		return errors.New("a server inside the program has only tools")
	}
	ses, err := s.ready(ctx, nil)
	if err != nil {
		return err
	}
	err = ses.within(ctx, fn)
	if errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, sdk.ErrConnectionClosed) {
		ses.end(err)
		if ses, err = s.ready(ctx, ses); err != nil {
			return err
		}
		err = ses.within(ctx, fn)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// within calls fn with a context that ends with the session.
func (ses *session) within(ctx context.Context, fn func(context.Context, *session) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ses.live, func() { cancel(context.Cause(ses.live)) })()
	return fn(ctx, ses)
}

// capabilities are the server's capabilities.
func (ses *session) capabilities() *sdk.ServerCapabilities {
	if c := ses.client.InitializeResult().Capabilities; c != nil {
		return c
	}
	return new(sdk.ServerCapabilities)
}

func enough(n int) error {
	if n >= maxResources {
		return errEnough
	}
	return nil
}
