package mcpauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/internal/authserver"
	"github.com/openagent-go/agent/internal/mcpauth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts an authorisation server and the resource that it guards.
func serve(t *testing.T, s *authserver.Server) *authserver.Server {
	t.Helper()
	s.Resource = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "inside") })
	authserver.New(s)
	t.Cleanup(s.Close)
	return s
}

// browse opens a page as a browser does, following it to the program.
func browse(ctx context.Context, page string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the browser sees %d: %s", resp.StatusCode, body)
	}
	return "", err
}

// get asks the guarded resource and returns the status.
func get(t *testing.T, s *authserver.Server, token string) (int, mcpauth.Challenge) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.ResourceURL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, mcpauth.ReadChallenge(resp.Header)
}

func login(t *testing.T, c *mcpauth.Client) string {
	t.Helper()
	if err := c.Login(t.Context(), mcpauth.Challenge{}, browse); err != nil {
		t.Fatal(err)
	}
	token, err := c.Token(t.Context())
	if err != nil || token == "" {
		t.Fatalf("token %q: %v", token, err)
	}
	return token
}

// A person logs in, and the token opens the resource: with each way of a client
// to be known and to say who it is.
func TestLogin(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name     string
		server   *authserver.Server
		config   mcpauth.Config
		register int
	}{
		{"registers itself", &authserver.Server{}, mcpauth.Config{}, 1},
		{"registers itself, basic", &authserver.Server{Methods: []string{"client_secret_basic"}}, mcpauth.Config{}, 1},
		{"registers itself, post", &authserver.Server{Methods: []string{"client_secret_post"}}, mcpauth.Config{}, 1},
		{"public client", &authserver.Server{Clients: map[string]string{"mine": ""}}, mcpauth.Config{ClientID: "mine"}, 0},
		{"client with a secret", &authserver.Server{Clients: map[string]string{"my id": "s:cret/+"}, Methods: []string{"client_secret_basic"}}, mcpauth.Config{ClientID: "my id", ClientSecret: "s:cret/+"}, 0},
		{"document", &authserver.Server{Change: func(d string, v map[string]any) {
			if d == "server" {
				v["client_id_metadata_document_supported"] = true
			}
		}}, mcpauth.Config{ClientMetadataURL: "https://client.example/me.json"}, 0},
		{"document is not taken", &authserver.Server{}, mcpauth.Config{ClientMetadataURL: "https://client.example/me.json"}, 1},
		{"issuer", &authserver.Server{}, mcpauth.Config{}, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, x.server)
			if x.name == "issuer" {
				x.config.Issuer = s.URL + "/"
			}
			c := &mcpauth.Client{Server: s.ResourceURL(), Config: x.config, Logins: new(mcpauth.Memory)}
			if token, err := c.Token(t.Context()); token != "" || err != nil {
				t.Errorf("before the login: %q, %v", token, err)
			}
			token := login(t, c)
			if status, _ := get(t, s, token); status != http.StatusOK {
				t.Errorf("status %d", status)
			}
			if n := s.Count("register"); n != x.register {
				t.Errorf("it registered %d times", n)
			}
			again, err := c.Renew(t.Context(), token)
			if err != nil || again == token || s.Count("refresh") != 1 {
				t.Errorf("renewed: %v, %d times", err, s.Count("refresh"))
			}
			was, err := c.Logout(t.Context())
			if !was || err != nil || s.Count("revoke") != 1 {
				t.Errorf("logout: %v, %v", was, err)
			}
			if status, _ := get(t, s, again); status != http.StatusUnauthorized {
				t.Errorf("after the logout: status %d", status)
			}
		})
	}
}

// A login that something is wrong with is refused, and no token is kept.
func TestLoginRefused(t *testing.T) {
	t.Parallel()
	elsewhere := "http://127.0.0.1:9/"
	set := func(document, name string, value any) func(string, map[string]any) {
		return func(d string, v map[string]any) {
			if d != document {
				return
			}
			if v[name] = value; value == nil {
				delete(v, name)
			}
		}
	}
	for _, x := range []struct {
		name   string
		change func(string, map[string]any)
		config mcpauth.Config
		want   string
	}{
		{"no PKCE", set("server", "code_challenge_methods_supported", nil), mcpauth.Config{}, "PKCE"},
		{"plain PKCE", set("server", "code_challenge_methods_supported", []string{"plain"}), mcpauth.Config{}, "S256"},
		{"another resource", set("resource", "resource", "https://evil.example/mcp"), mcpauth.Config{}, "not this server"},
		{"a resource below", set("resource", "resource", "SELF/mcp/more"), mcpauth.Config{}, "not this server"},
		{"no authorisation server", set("resource", "authorization_servers", nil), mcpauth.Config{}, "names no authorisation server"},
		{"authorisation server without TLS", set("resource", "authorization_servers", []string{"http://as.example"}), mcpauth.Config{}, "https://"},
		{"another issuer", set("server", "issuer", "https://evil.example"), mcpauth.Config{}, "does not match"},
		{"not the issuer of the configuration", nil, mcpauth.Config{Issuer: "https://good.example"}, "another issuer"},
		{"script", set("server", "authorization_endpoint", "javascript:alert(1)"), mcpauth.Config{}, "scheme"},
		{"token end point without TLS", set("server", "token_endpoint", "http://as.example/token"), mcpauth.Config{}, "HTTPS"},
		{"iss is missing", set("callback", "iss", ""), mcpauth.Config{}, "does not name"},
		{"iss is another's", set("callback", "iss", "https://evil.example"), mcpauth.Config{}, "evil.example"},
		{"person refuses", set("callback", "error", "access_denied"), mcpauth.Config{}, "access_denied"},
		{"no code", set("callback", "code", ""), mcpauth.Config{}, "no code"},
		{"wrong code", set("callback", "code", "guessed-guessed"), mcpauth.Config{}, "invalid_grant"},
		{"token of another kind", set("token", "token_type", "mac"), mcpauth.Config{}, "only bearer"},
		{"no token", set("token", "access_token", nil), mcpauth.Config{}, "no access token"},
		{"token with a line", set("token", "access_token", "a\r\nX-Evil: 1"), mcpauth.Config{}, "no access token"},
		{"no registration", set("server", "registration_endpoint", nil), mcpauth.Config{}, "oauth.clientId"},
		{"registration without an id", set("registration", "client_id", nil), mcpauth.Config{}, "no client_id"},
		{"token end point leads elsewhere", set("server", "token_endpoint", elsewhere), mcpauth.Config{}, "refused"},
		{"unknown client", nil, mcpauth.Config{ClientID: "nobody", CallbackPort: 0}, "the login was not completed"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			var s *authserver.Server
			s = serve(t, &authserver.Server{Change: func(d string, v map[string]any) {
				if x.change != nil {
					x.change(d, v)
				}
				if text, ok := v["resource"].(string); ok {
					v["resource"] = strings.Replace(text, "SELF", s.URL, 1)
				}
			}})
			c := &mcpauth.Client{Server: s.ResourceURL(), Config: x.config, Logins: new(mcpauth.Memory)}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			err := c.Login(ctx, mcpauth.Challenge{}, func(ctx context.Context, page string) (string, error) {
				if x.name == "unknown client" { // the browser is not sent back
					if _, err := browse(ctx, page); err == nil {
						t.Error("the page is shown")
					}
					cancel()
				} else if _, err := browse(ctx, page); err != nil && !errors.Is(err, context.Canceled) { // the login does not wait for the page
					t.Error(err)
				}
				return "", nil
			})
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v, not %s", err, x.want)
			}
			if token, _ := c.Token(t.Context()); token != "" {
				t.Error("there is a token")
			}
		})
	}
}

// Several programs and goroutines renew one login: once, for a refresh token that
// is used a second time would end it.
func TestRenewOnce(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) func() mcpauth.Store{
		"memory": func(*testing.T) func() mcpauth.Store {
			m := new(mcpauth.Memory)
			return func() mcpauth.Store { return m }
		},
		"files": func(t *testing.T) func() mcpauth.Store {
			dir := filepath.Join(t.TempDir(), "logins")
			return func() mcpauth.Store { return &mcpauth.Dir{Path: dir} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &authserver.Server{})
			stored := store(t)
			first := &mcpauth.Client{Server: s.ResourceURL(), Logins: stored()}
			login(t, first)
			s.Expire(false)
			var wg sync.WaitGroup
			for range 4 { // programs
				c := &mcpauth.Client{Server: s.ResourceURL(), Logins: stored()}
				old, err := c.Token(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for range 4 { // calls
					wg.Go(func() {
						token, err := c.Renew(t.Context(), old)
						if err != nil {
							t.Error(err)
							return
						}
						if status, _ := get(t, s, token); status != http.StatusOK {
							t.Errorf("status %d", status)
						}
					})
				}
			}
			wg.Wait()
			if n, reused := s.Count("refresh"), s.Count("reuse"); n != 1 || reused != 0 {
				t.Errorf("%d refreshed, %d refresh tokens used again", n, reused)
			}
		})
	}
}

// A token that is about to expire is renewed before it is used, and a login that
// was withdrawn is forgotten.
func TestExpiry(t *testing.T) {
	t.Parallel()
	s := serve(t, &authserver.Server{Lifetime: 5 * time.Second}) // less than the reserve
	c := &mcpauth.Client{Server: s.ResourceURL(), Logins: new(mcpauth.Memory)}
	if err := c.Login(t.Context(), mcpauth.Challenge{}, browse); err != nil {
		t.Fatal(err)
	}
	token, err := c.Token(t.Context())
	if err != nil || s.Count("refresh") != 1 {
		t.Errorf("%v: %d refreshed", err, s.Count("refresh"))
	}
	s.Expire(true)
	if _, err := c.Renew(t.Context(), token); !errors.Is(err, mcpauth.ErrLogin) || strings.Contains(err.Error(), "refresh-") {
		t.Error(err)
	}
	if token, err := c.Token(t.Context()); token != "" || err != nil {
		t.Errorf("%q %v", token, err)
	}
	if n := s.Count("refresh"); n != 1 {
		t.Errorf("%d refreshed", n)
	}
}

// A server that fails for a while does not end a login.
func TestAuthorisationServerIsDown(t *testing.T) {
	t.Parallel()
	s := serve(t, &authserver.Server{})
	c := &mcpauth.Client{Server: s.ResourceURL(), Logins: new(mcpauth.Memory)}
	token := login(t, c)
	s.Close()
	if _, err := c.Renew(t.Context(), token); err == nil || errors.Is(err, mcpauth.ErrLogin) || strings.Contains(err.Error(), "refresh-") {
		t.Error(err)
	}
	if l, err := c.Logins.Load(t.Context(), s.ResourceURL()+"\n"); err != nil || l == nil || l.Refresh == "" {
		t.Errorf("%v: the login is gone", err)
	}
}

// broken is a store whose disk is full for a while.
type broken struct {
	mcpauth.Memory
	full bool
}

func (b *broken) Update(ctx context.Context, key string, change func(*mcpauth.Login) (*mcpauth.Login, error)) error {
	return b.Memory.Update(ctx, key, func(l *mcpauth.Login) (*mcpauth.Login, error) {
		next, err := change(l)
		if err == nil && b.full {
			err = errors.New("no space left")
		}
		return next, err
	})
}

// A new access token is not used before the refresh token that came with it is
// kept, and the login is not lost where that failed.
func TestRotationIsKeptFirst(t *testing.T) {
	t.Parallel()
	s := serve(t, &authserver.Server{})
	store := new(broken)
	c := &mcpauth.Client{Server: s.ResourceURL(), Logins: store}
	old := login(t, c)
	store.full = true
	if token, err := c.Renew(t.Context(), old); err == nil || token != "" {
		t.Errorf("%q is used", token)
	}
	store.full = false
	token, err := c.Renew(t.Context(), old)
	if err != nil || s.Count("refresh") != 1 || s.Count("reuse") != 0 {
		t.Errorf("%v: %d refreshed", err, s.Count("refresh"))
	}
	other := &mcpauth.Client{Server: s.ResourceURL(), Logins: store}
	if next, err := other.Renew(t.Context(), token); err != nil || next == token {
		t.Errorf("what is kept is of no use: %v", err)
	}
}

// Scopes: those of the challenge, more with a later one, and those wanted since.
func TestScopes(t *testing.T) {
	t.Parallel()
	need := "read"
	s := serve(t, &authserver.Server{Scopes: []string{"read"}, Needs: func(*http.Request) string { return need }})
	c := &mcpauth.Client{Server: s.ResourceURL(), Logins: new(mcpauth.Memory)}
	token := login(t, c)
	if status, _ := get(t, s, token); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	need = "write"
	status, ask := get(t, s, token)
	if status != http.StatusForbidden || ask.Error != "insufficient_scope" || strings.Join(ask.Scopes, " ") != "write" {
		t.Fatalf("%d %+v", status, ask)
	}
	if missing, err := c.Want(t.Context(), ask.Scopes); !missing || err != nil {
		t.Errorf("%v %v", missing, err)
	}
	token = login(t, c)
	for _, need = range []string{"read", "write"} {
		if status, _ := get(t, s, token); status != http.StatusOK {
			t.Errorf("%s: status %d", need, status)
		}
	}
	if missing, err := c.Want(t.Context(), ask.Scopes); missing || err != nil {
		t.Errorf("%v %v", missing, err)
	}
}

// Where the browser cannot come back the person gives the address; one of another
// login does not count.
func TestAddressGiven(t *testing.T) {
	t.Parallel()
	s := serve(t, &authserver.Server{})
	c := &mcpauth.Client{Server: s.ResourceURL(), Logins: new(mcpauth.Memory)}
	address := func(page string) string {
		stay := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := stay.Get(page)
		if err != nil {
			t.Error(err)
			return ""
		}
		resp.Body.Close()
		return resp.Header.Get("Location")
	}
	err := c.Login(t.Context(), mcpauth.Challenge{}, func(_ context.Context, page string) (string, error) {
		u, _ := url.Parse(address(page))
		q := u.Query()
		q.Set("state", "guessed")
		u.RawQuery = q.Encode()
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(u.String()) // an attacker's page
		if err != nil {
			t.Error(err)
		} else if resp.Body.Close(); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d", resp.StatusCode)
		}
		return u.String(), nil
	})
	if err == nil || !strings.Contains(err.Error(), "belongs to another login") {
		t.Error(err)
	}
	err = c.Login(t.Context(), mcpauth.Challenge{}, func(_ context.Context, page string) (string, error) { return " " + address(page) + "\n", nil })
	if err != nil {
		t.Error(err)
	}
}

// Files of logins are readable by their owner alone, errors about damaged ones do not quote
// them, and a login is for one URL and client.
func TestDir(t *testing.T) {
	t.Parallel()
	s := serve(t, &authserver.Server{Clients: map[string]string{"mine": ""}})
	dir := &mcpauth.Dir{Path: filepath.Join(t.TempDir(), "a", "logins")}
	c := &mcpauth.Client{Server: s.ResourceURL(), Logins: dir}
	login(t, c)
	files, err := filepath.Glob(filepath.Join(dir.Path, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.Stat(dir.Path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && (info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700) {
		t.Errorf("%v in %v", info.Mode(), folder.Mode())
	}
	for _, other := range []*mcpauth.Client{{Server: s.URL + "/other"}, {Server: s.ResourceURL(), Config: mcpauth.Config{ClientID: "mine"}}} {
		other.Logins = dir
		if token, err := other.Token(t.Context()); token != "" || err != nil {
			t.Errorf("%s has the token: %v", other.Server, err)
		}
	}
	if err := os.WriteFile(files[0], []byte(`{"accessToken":"access-very-secret`), 0o600); err != nil {
		t.Fatal(err)
	}
	again := &mcpauth.Client{Server: s.ResourceURL(), Logins: dir}
	if _, err := again.Token(t.Context()); err == nil || strings.Contains(err.Error(), "very-secret") || !strings.Contains(err.Error(), "log in again") {
		t.Error(err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if was, err := again.Logout(t.Context()); was || err != nil {
		t.Errorf("%v %v", was, err)
	}
}

func TestReadChallenge(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ header, want string }{
		{`Bearer resource_metadata="https://a/b", scope="x  y x"`, "https://a/b [x y] "},
		{`Basic realm="r", Bearer error="insufficient_scope", scope="z"`, " [z] insufficient_scope"},
		{`Bearer scope="a` + "\x01" + `b ok"`, " [ok] "},
		{`Bearer error="unterminated`, " [] "},
		{`"`, " [] "},
		{"", " [] "},
		{"Bearer a=" + strings.Repeat(",", 1<<20), " [] "},
	} {
		c := mcpauth.ReadChallenge(http.Header{"Www-Authenticate": {x.header}})
		if got := fmt.Sprintf("%s %v %s", c.Metadata, c.Scopes, c.Error); got != x.want {
			t.Errorf("%.60q: %q", x.header, got)
		}
	}
}

// A transport of the program that counts on not being asked for private places.
type forbidden struct{ t *testing.T }

func (f forbidden) RoundTrip(r *http.Request) (*http.Response, error) {
	f.t.Errorf("%s is asked", r.URL)
	return nil, errors.New("no")
}

// A server in public cannot have this program ask private places.
func TestPrivateNetworks(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"https://10.0.0.1/x", "https://169.254.169.254/latest/meta-data", "https://127.0.0.1/x", "http://127.0.0.1/x", "https://localhost/x", "http://as.example/x"} {
		c := &mcpauth.Client{Server: "https://93.184.215.14/mcp", Logins: new(mcpauth.Memory), Transport: forbidden{t}}
		err := c.Login(t.Context(), mcpauth.Challenge{Metadata: place}, browse)
		if err == nil || !strings.Contains(err.Error(), "may not be reached") && !strings.Contains(err.Error(), "https://") {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// A client with a secret gets tokens without a person: again when the server refuses one
// or it expires, with the scopes of challenges, and once for several goroutines.
func TestClientCredentials(t *testing.T) {
	t.Parallel()
	for _, methods := range [][]string{nil, {"client_secret_basic"}} {
		// A server that only programs log in to need not say where people do.
		s := serve(t, &authserver.Server{Clients: map[string]string{"robot": "robot-secret"}, Methods: methods, Scopes: []string{"read"}, Change: func(d string, v map[string]any) {
			if d == "server" {
				delete(v, "authorization_endpoint")
				v["scopes_supported"] = []string{"read", "offline_access"}
			}
		}})
		config := mcpauth.Config{Grant: mcpauth.ClientCredentials, ClientID: "robot", ClientSecret: "robot-secret", Issuer: s.URL}
		if err := config.Check(); err != nil {
			t.Fatal(err)
		}
		dir := &mcpauth.Dir{Path: filepath.Join(t.TempDir(), "logins")}
		c := &mcpauth.Client{Server: s.ResourceURL(), Config: config, Logins: dir}
		if token, err := c.Token(t.Context()); token != "" || err != nil {
			t.Errorf("%q %v", token, err)
		}
		_, ask := get(t, s, "")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				token, err := c.Obtain(t.Context(), ask, "")
				if status, _ := get(t, s, token); err != nil || status != http.StatusOK {
					t.Errorf("status %d: %v", status, err)
				}
			})
		}
		wg.Wait()
		if n := s.Count("own"); n != 1 {
			t.Errorf("%d tokens", n)
		}
		other := &mcpauth.Client{Server: s.ResourceURL(), Config: config, Logins: dir} // another program
		token, err := other.Token(t.Context())
		if err != nil || token == "" || s.Count("own") != 1 {
			t.Errorf("%q %v, %d tokens", token, err, s.Count("own"))
		}
		if l, err := dir.Load(t.Context(), s.ResourceURL()+"\nrobot\nclient_credentials"); err != nil || l.Refresh != "" || strings.Join(l.Scopes, " ") != "read" {
			t.Errorf("%+v %v", l, err)
		}
		s.Expire(false)
		next, err := other.Renew(t.Context(), token)
		if status, _ := get(t, s, next); err != nil || next == token || status != http.StatusOK {
			t.Errorf("status %d: %v", status, err)
		}
		if missing, err := other.Want(t.Context(), []string{"write"}); !missing || err != nil {
			t.Errorf("%v %v", missing, err)
		}
		if err := other.Login(t.Context(), mcpauth.Challenge{Scopes: []string{"write"}}, nil); err != nil {
			t.Error(err)
		}
		if missing, err := other.Want(t.Context(), []string{"read", "write"}); missing || err != nil {
			t.Errorf("%v %v", missing, err)
		}
		person := &mcpauth.Client{Server: s.ResourceURL(), Config: mcpauth.Config{ClientID: "robot", ClientSecret: "robot-secret"}, Logins: dir}
		if token, err := person.Token(t.Context()); token != "" || err != nil {
			t.Errorf("a person has the program's token: %v", err)
		}
	}
}

// A program gets its token where logins cannot be kept, as in a container whose home is
// read-only, and asks for one only when it has none.
func TestClientCredentialsWithoutStore(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, &authserver.Server{Clients: map[string]string{"robot": "robot-secret"}, Scopes: []string{"read"}})
	c := &mcpauth.Client{Server: s.ResourceURL(), Logins: &mcpauth.Dir{Path: filepath.Join(file, "logins")},
		Config: mcpauth.Config{Grant: mcpauth.ClientCredentials, ClientID: "robot", ClientSecret: "robot-secret", Issuer: s.URL}}
	_, ask := get(t, s, "")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			token, err := c.Token(t.Context())
			if token == "" {
				token, err = c.Obtain(t.Context(), ask, "")
			}
			if status, _ := get(t, s, token); err != nil || status != http.StatusOK {
				t.Errorf("status %d: %v", status, err)
			}
		})
	}
	wg.Wait()
	first, err := c.Token(t.Context())
	if n := s.Count("own"); n != 1 || err != nil {
		t.Errorf("%d tokens, %v", n, err)
	}
	s.Expire(false)
	next, err := c.Renew(t.Context(), first)
	if status, _ := get(t, s, next); err != nil || next == first || status != http.StatusOK {
		t.Errorf("status %d: %v", status, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Renew(ended, next); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The client's secret goes to the issuer of the configuration only, and to no error.
func TestClientCredentialsRefused(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		change func(d string, v map[string]any)
		secret string
		want   string
	}{
		"another issuer": {func(d string, v map[string]any) {
			setIn(d, v, "resource", "authorization_servers", []string{"https://evil.example"})
		}, "robot-secret", "another issuer"},
		"a wrong secret":   {nil, "wrong-secret", "invalid_client"},
		"no token address": {func(d string, v map[string]any) { setIn(d, v, "server", "token_endpoint", "") }, "robot-secret", "no endpoint for tokens"},
		"a mac token":      {func(d string, v map[string]any) { setIn(d, v, "token", "token_type", "mac") }, "robot-secret", "only bearer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &authserver.Server{Clients: map[string]string{"robot": "robot-secret"}, Change: x.change})
			c := &mcpauth.Client{Server: s.ResourceURL(), Logins: new(mcpauth.Memory),
				Config: mcpauth.Config{Grant: mcpauth.ClientCredentials, ClientID: "robot", ClientSecret: x.secret, Issuer: s.URL}}
			_, err := c.Obtain(t.Context(), mcpauth.Challenge{}, "")
			if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), x.secret) {
				t.Error(err)
			}
			if token, err := c.Token(t.Context()); token != "" || err != nil {
				t.Errorf("%q %v", token, err)
			}
		})
	}
	for want, c := range map[string]mcpauth.Config{
		"not known": {Grant: "password"},
		"needs":     {Grant: mcpauth.ClientCredentials, ClientID: "robot", ClientSecret: "s"},
		"not for":   {Grant: mcpauth.ClientCredentials, ClientID: "robot", ClientSecret: "s", Issuer: "https://as.example", CallbackPort: 80},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The configuration bounds what a program asks for without a person: the issuer that gets
// the secret and whose tokens count, and the scopes.
func TestClientCredentialsKeepToConfig(t *testing.T) {
	t.Parallel()
	s := serve(t, &authserver.Server{Clients: map[string]string{"robot": "robot-secret"}})
	logins := new(mcpauth.Memory)
	client := func(issuer string) *mcpauth.Client {
		return &mcpauth.Client{Server: s.ResourceURL(), Logins: logins,
			Config: mcpauth.Config{Grant: mcpauth.ClientCredentials, ClientID: "robot", ClientSecret: "robot-secret", Issuer: issuer, Scopes: "read"}}
	}
	if _, err := client("").Obtain(t.Context(), mcpauth.Challenge{}, ""); err == nil || !strings.Contains(err.Error(), "needs clientId, clientSecret and issuer") || s.Count("own") != 0 {
		t.Errorf("without an issuer: %v, %d tokens", err, s.Count("own"))
	}
	c := client(s.URL)
	if _, err := c.Obtain(t.Context(), mcpauth.Challenge{Scopes: []string{"read", "admin"}}, ""); err != nil {
		t.Fatal(err)
	}
	if l, err := logins.Load(t.Context(), s.ResourceURL()+"\nrobot\nclient_credentials"); err != nil || strings.Join(l.Scopes, " ") != "read" {
		t.Errorf("%+v %v", l, err)
	}
	if token, err := client(s.URL + "/").Token(t.Context()); token == "" || err != nil {
		t.Errorf("the same issuer: %q %v", token, err)
	}
	if token, err := client("https://other.example").Token(t.Context()); token != "" || err != nil {
		t.Errorf("another issuer: %q %v", token, err)
	}
}

func setIn(document string, values map[string]any, in, name string, value any) {
	if document == in {
		values[name] = value
	}
}
