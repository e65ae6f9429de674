package firstrun

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/openagent-go/agent/internal/chat"
)

// A Server is a program on this machine that serves models without a key.
type Server struct {
	Provider string   // as --provider takes it
	Title    string   // for people
	BaseURL  string   // of its API, on a loopback address
	Models   []string // that it offers, in its order
}

const (
	searchTime    = 400 * time.Millisecond // for all servers together
	maxList       = 1 << 20                // bytes of a list of models
	maxModels     = 200
	maxNameLength = 200 // bytes
)

// Port returns the port of the server.
func (s Server) Port() string {
	u, err := url.Parse(s.BaseURL)
	if err != nil {
		return ""
	}
	return u.Port()
}

// KnownServers lists the servers that FindServers asks, without models.
func KnownServers() []Server {
	var all []Server
	for _, p := range chat.Profiles() {
		u, err := url.Parse(p.BaseURL)
		if err == nil && p.Keyless && u.Hostname() == "localhost" {
			all = append(all, Server{Provider: p.Name, Title: titles[p.Name], BaseURL: p.BaseURL})
		}
	}
	return all
}

// FindServers returns the known servers that run on this machine and have a model. It takes at most
// 0.4 s. Any program may listen there, so its names are untrusted: sanitise them before you show them.
func FindServers(ctx context.Context) []Server { return search(ctx, KnownServers(), searchTime) }

// search asks servers at the same time for their models.
func search(ctx context.Context, servers []Server, limit time.Duration) []Server {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	// No proxy: the address is of this machine. No redirect: another address is none of a server here.
	transport := &http.Transport{DialContext: new(net.Dialer).DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	lists := make([][]string, len(servers))
	var wait sync.WaitGroup
	for i, s := range servers {
		wait.Go(func() { lists[i] = modelsAt(ctx, client, s.BaseURL) })
	}
	wait.Wait()
	var found []Server
	for i, s := range servers {
		if s.Models = lists[i]; len(s.Models) > 0 {
			found = append(found, s)
		}
	}
	return found
}

// modelsAt returns the names of the models at an address, none if no such server is there.
func modelsAt(ctx context.Context, client *http.Client, base string) []string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/models", nil)
	if err != nil {
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxList+1))
	if err != nil || len(data) > maxList || json.Unmarshal(data, &list) != nil {
		return nil
	}
	var names []string
	for _, m := range list.Data {
		if isName(m.ID) && len(names) < maxModels {
			names = append(names, m.ID)
		}
	}
	return names
}

// isName reports whether a text can be the name of a model.
func isName(name string) bool {
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	return name != "" && len(name) <= maxNameLength && !strings.ContainsFunc(name, odd)
}
