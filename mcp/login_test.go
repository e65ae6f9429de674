//go:build unix

package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/authserver"
	"github.com/openagent-go/agent/internal/mcpauth"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/mcp/oauth"
)

// guarded is a server of the official SDK behind an authorisation server.
func guarded(t *testing.T, kind string, s *authserver.Server) *authserver.Server {
	t.Helper()
	server := network()
	get := func(*http.Request) *sdk.Server { return server }
	s.Resource = sdk.NewStreamableHTTPHandler(get, nil)
	if kind == mcpnames.SSE {
		s.Resource = sdk.NewSSEHandler(get, nil)
	}
	authserver.New(s)
	t.Cleanup(s.Close)
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close() // its client is gone
		}
	})
	return s
}

// browse opens a page as a browser does, following it to the program.
func browse(ctx context.Context, _, page string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return "", err
	}
	return "", resp.Body.Close()
}

// waitFor waits until a server has a state.
func waitFor(t *testing.T, all *mcp.Servers, name string, state mcp.State) mcp.Status {
	t.Helper()
	for limit := time.Now().Add(soon); ; time.Sleep(5 * time.Millisecond) {
		s := statusOf(t, all, name)
		if s.State == state {
			return s
		}
		if time.Now().After(limit) {
			t.Fatalf("%+v", s)
		}
	}
}

// withLogin returns servers, closed in the end, and their log.
func withLogin(t *testing.T, c mcp.Config, o mcp.Options) (*mcp.Servers, *logged) {
	t.Helper()
	log := new(logged)
	o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.AlwaysLoad = true
	all := mcp.New(map[string]mcp.Config{"s": c}, o)
	t.Cleanup(func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	})
	return all, log
}

type logged struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

// Without a person a server that wants a login says how to log in; once someone
// has, it works, through tokens that end and are renewed.
func TestLoginBefore(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{mcpnames.HTTP, mcpnames.SSE} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := guarded(t, kind, &authserver.Server{})
			logins := oauth.Dir(t.TempDir())
			c := mcp.Config{Type: kind, URL: s.ResourceURL()}
			all, log := withLogin(t, c, mcp.Options{Logins: logins, LoginCommand: "openagent mcp login"})
			if tools := toolsOf(t, all); len(tools) != 0 {
				t.Errorf("%d tools", len(tools))
			}
			if st := statusOf(t, all, "s"); st.State != mcpnames.NeedsAuth || !strings.Contains(st.Error, "openagent mcp login s") {
				t.Fatalf("%+v", st)
			}
			asked := s.Count("resource")
			client, err := c.LoginClient(logins) // as another program does
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Login(t.Context(), func(ctx context.Context, page string) (string, error) { return browse(ctx, "", page) }); err != nil {
				t.Fatal(err)
			}
			if n := s.Count("resource"); n != asked+1 { // by the login, to learn the server's challenge
				t.Errorf("it was asked %d times more before it was reconnected", n-asked)
			}
			if err := all.Reconnect(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			tools := toolsOf(t, all)
			secrets := s.Secrets()
			for i := range 3 {
				if out := call(t, tools, "mcp__s__echo", `{"text":"hello"}`); out.Result.Text() != "hello" {
					t.Fatalf("%s", out.Result.Text())
				}
				if n := s.Count("refresh"); n != i {
					t.Errorf("renewed %d times, not %d", n, i)
				}
				secrets = append(secrets, s.Secrets()...)
				s.Expire(false)
			}
			call(t, tools, "mcp__s__echo", `{"text":"hello"}`)
			for _, secret := range s.Secrets() { // a server may send back its input
				if out := call(t, tools, "mcp__s__echo", `{"text":"you sent `+secret+`"}`); out.Result.Text() != "you sent ***" {
					t.Errorf("%s", out.Result.Text())
				}
				secrets = append(secrets, secret)
			}
			s.Expire(true) // withdrawn
			out := call(t, tools, "mcp__s__echo", `{"text":"hello"}`)
			if !out.Result.IsError || !strings.Contains(out.Result.Text(), "openagent mcp login s") {
				t.Errorf("%s", out.Result.Text())
			}
			st := waitFor(t, all, "s", mcpnames.NeedsAuth)
			said := fmt.Sprint(st, log.text(), out.Result.Text())
			for _, secret := range secrets {
				if strings.Contains(said, secret) {
					t.Errorf("%s is in %s", secret, said)
				}
			}
		})
	}
}

// With a person a server that wants a login gets one, at its start and later, and
// is asked for more scopes once.
func TestLoginByAPerson(t *testing.T) {
	t.Parallel()
	var need atomic.Value
	need.Store("")
	s := guarded(t, mcpnames.HTTP, &authserver.Server{Scopes: []string{"read"}, Needs: forCalls(func() string { return need.Load().(string) })})
	all, _ := withLogin(t, mcp.Config{URL: s.ResourceURL()}, mcp.Options{Login: browse})
	toolsOf(t, all)
	waitFor(t, all, "s", mcpnames.Connected)
	tools := toolsOf(t, all)
	echo := func() toolrun.Outcome { return call(t, tools, "mcp__s__echo", `{"text":"hello"}`) }
	if out := echo(); out.Result.Text() != "hello" || s.Count("authorize") != 1 {
		t.Errorf("%s after %d logins", out.Result.Text(), s.Count("authorize"))
	}
	s.Expire(true)
	if out := echo(); out.Result.Text() != "hello" || s.Count("authorize") != 2 {
		t.Errorf("%s after %d logins", out.Result.Text(), s.Count("authorize"))
	}
	need.Store("write")
	if out := echo(); out.Result.Text() != "hello" || s.Count("authorize") != 3 {
		t.Errorf("%s after %d logins", out.Result.Text(), s.Count("authorize"))
	}
	need.Store("read") // it has not lost it
	if out := echo(); out.Result.Text() != "hello" || s.Count("authorize") != 3 {
		t.Errorf("%s after %d logins", out.Result.Text(), s.Count("authorize"))
	}
}

// A server that refuses every login makes a person be asked a few times and no more: at its
// start, and for scopes that it never gives.
func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	never := guarded(t, mcpnames.HTTP, &authserver.Server{Change: func(d string, v map[string]any) {
		if d == "token" {
			v["access_token"], v["refresh_token"] = "made-up-token", "made-up-refresh"
		}
	}})
	all, _ := withLogin(t, mcp.Config{URL: never.ResourceURL()}, mcp.Options{Login: browse})
	toolsOf(t, all)
	for limit := time.Now().Add(soon); never.Count("authorize") < 2 && time.Now().Before(limit); {
		time.Sleep(5 * time.Millisecond)
	}
	waitFor(t, all, "s", mcpnames.NeedsAuth)
	if n := never.Count("authorize"); n != 2 {
		t.Errorf("%d logins", n)
	}

	less := guarded(t, mcpnames.HTTP, &authserver.Server{Scopes: []string{"read"}, Granted: []string{"read"}, Needs: forCalls(func() string { return "write" })})
	all, _ = withLogin(t, mcp.Config{URL: less.ResourceURL()}, mcp.Options{Login: browse})
	toolsOf(t, all)
	waitFor(t, all, "s", mcpnames.Connected)
	for range 3 {
		out := call(t, toolsOf(t, all), "mcp__s__echo", `{"text":"hello"}`)
		if !out.Result.IsError || !strings.Contains(out.Result.Text(), "more scopes: write") {
			t.Errorf("%s", out.Result.Text())
		}
	}
	if n := less.Count("authorize"); n != 2 { // at the start, and for the scope
		t.Errorf("%d logins", n)
	}
}

// forCalls has only calls of tools need a scope.
func forCalls(scope func() string) func(*http.Request) string {
	return func(r *http.Request) string {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return ""
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			return scope()
		}
		return ""
	}
}

// A person who does not log in holds up nothing: not the other servers' tools, not
// the end.
func TestNobodyLogsIn(t *testing.T) {
	t.Parallel()
	s := guarded(t, mcpnames.HTTP, &authserver.Server{})
	asked := make(chan struct{})
	all, _ := withLogin(t, mcp.Config{URL: s.ResourceURL()}, mcp.Options{Login: func(ctx context.Context, server, page string) (string, error) {
		if server != "s" || !strings.HasPrefix(page, s.URL+"/authorize?") {
			t.Errorf("%s %s", server, page)
		}
		close(asked)
		<-ctx.Done()
		return "", ctx.Err()
	}})
	if tools := toolsOf(t, all); len(tools) != 0 {
		t.Errorf("%d tools", len(tools))
	}
	<-asked
	if st := statusOf(t, all, "s"); st.State != mcpnames.NeedsAuth {
		t.Errorf("%+v", st)
	}

	all, _ = withLogin(t, mcp.Config{URL: s.ResourceURL()}, mcp.Options{Login: func(context.Context, string, string) (string, error) { return "", errors.New("she said no") }})
	if err := all.Reconnect(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "she said no") {
		t.Error(err)
	}
	if st := statusOf(t, all, "s"); st.State != mcpnames.NeedsAuth || !strings.Contains(st.Error, "she said no") {
		t.Errorf("%+v", st)
	}
}

// A program with a client of its own needs no person: at the start, when its token is
// withdrawn, and for more scopes. A server that never takes its token says so.
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{mcpnames.HTTP, mcpnames.SSE} {
		var need atomic.Value
		need.Store("")
		s := guarded(t, kind, &authserver.Server{Clients: map[string]string{"robot": "robot-secret"}, Scopes: []string{"read"}, Needs: forCalls(func() string { return need.Load().(string) })})
		c := mcp.Config{Type: kind, URL: s.ResourceURL(), OAuth: &oauth.Config{Grant: mcpauth.ClientCredentials, ClientID: "robot", ClientSecret: "robot-secret", Issuer: s.URL}}
		all, log := withLogin(t, c, mcp.Options{Login: func(context.Context, string, string) (string, error) {
			t.Error("a person is asked")
			return "", errors.New("no")
		}})
		tools := toolsOf(t, all)
		steps := []string{"", "", "write"}
		if kind == mcpnames.SSE { // a refused call ends the connection there
			steps = steps[:2]
		}
		for step, scope := range steps {
			need.Store(scope)
			if out := call(t, tools, "mcp__s__echo", `{"text":"hello"}`); out.Result.Text() != "hello" {
				t.Fatalf("%s, step %d: %s", kind, step, out.Result.Text())
			}
			if step == 0 {
				s.Expire(true)
			}
		}
		if n := s.Count("authorize"); n != 0 {
			t.Errorf("%d pages were opened", n)
		}
		for _, secret := range append(s.Secrets(), "robot-secret") {
			if strings.Contains(log.text(), secret) {
				t.Errorf("%s is logged", secret)
			}
		}
	}
	never := guarded(t, mcpnames.HTTP, &authserver.Server{Clients: map[string]string{"robot": "robot-secret"}, Change: func(d string, v map[string]any) {
		if d == "token" {
			v["access_token"] = "made-up-token"
		}
	}})
	c := mcp.Config{URL: never.ResourceURL(), OAuth: &oauth.Config{Grant: mcpauth.ClientCredentials, ClientID: "robot", ClientSecret: "robot-secret", Issuer: never.URL}}
	all, _ := withLogin(t, c, mcp.Options{Login: browse})
	toolsOf(t, all)
	if st := waitFor(t, all, "s", mcpnames.NeedsAuth); !strings.Contains(st.Error, "the client robot") || never.Count("authorize") != 0 {
		t.Errorf("%+v", st)
	}
}

// Headers and logins do not mix.
func TestLoginConfigs(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]mcp.Config{
		"without a header":     {URL: "https://h/", Headers: map[string]string{"authorization": "Bearer x"}, OAuth: &oauth.Config{}},
		"of type http and sse": {Command: "x", OAuth: &oauth.Config{}},
		"needs a clientId":     {URL: "https://h/", OAuth: &oauth.Config{ClientSecret: "x"}},
		"callbackPort":         {URL: "https://h/", OAuth: &oauth.Config{CallbackPort: -1}},
		"clientMetadataUrl":    {URL: "https://h/", OAuth: &oauth.Config{ClientMetadataURL: "http://x/y"}},
		"the issuer":           {URL: "https://h/", OAuth: &oauth.Config{Issuer: "http://x.example"}},
	} {
		all := mcp.New(map[string]mcp.Config{"s": c}, mcp.Options{})
		if st := statusOf(t, all, "s"); st.State != mcpnames.Failed || !strings.Contains(st.Error, want) {
			t.Errorf("%s: %+v", want, st)
		}
	}
	if _, err := (mcp.Config{Command: "x"}).LoginClient(nil); err == nil {
		t.Error("a process is logged in to")
	}
	configs, err := mcp.Parse([]byte(`{"mcpServers":{"s":{"url":"https://h/","oauth":{"clientId":"${ID}","clientSecret":"${SECRET}","callbackPort":8080,"scopes":"a b"}}}}`), func(name string) string { return "value of " + name })
	if o := configs["s"].OAuth; err != nil || *o != (oauth.Config{ClientID: "value of ID", ClientSecret: "value of SECRET", CallbackPort: 8080, Scopes: "a b"}) || parts.ServerSecrets(configs["s"])[0] != "value of SECRET" {
		t.Errorf("%+v %v", o, err)
	}
}
