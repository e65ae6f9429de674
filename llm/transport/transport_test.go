package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
)

// authority makes certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.make("ca", true)
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) make(name string, root bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: root, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"model.example"}}
	parent, signer := a.cert, a.key
	if root {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(a.file(file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// serve starts a server of models that asks for a certificate of the authority's.
func (a *authority) serve() *httptest.Server {
	a.make("server", false)
	pair, err := tls.LoadX509KeyPair(a.file("server.pem"), a.file("server.key"))
	if err != nil {
		a.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	a.t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, o Options, base string) error {
	t.Helper()
	c, err := o.Client()
	if err != nil {
		t.Fatal(err)
	}
	if c != nil {
		defer c.CloseIdleConnections()
	}
	m := (&anthropic.Client{APIKey: "k", BaseURL: base, HTTP: c}).Model("claude-sonnet-4-6")
	_, err = llm.Collect(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}, Blocking: true})
	return err
}

func class(err error) llm.Class {
	var e *llm.APIError
	errors.As(err, &e)
	if e == nil {
		return ""
	}
	return e.Class
}

// A server that demands a client's certificate.
func TestMutualTLS(t *testing.T) {
	a := newAuthority(t)
	a.make("client", false)
	s := a.serve()
	if err := ask(t, Options{CAFile: a.file("ca.pem"), CertFile: a.file("client.pem"), KeyFile: a.file("client.key")}, s.URL); err != nil {
		t.Error(err)
	}
	// The server refuses once the client's handshake is over, so that its reason can come
	// too late, behind a write that fails.
	err := ask(t, Options{CAFile: a.file("ca.pem")}, s.URL)
	for i := 0; i < 100 && class(err) == llm.Network; i++ {
		err = ask(t, Options{CAFile: a.file("ca.pem")}, s.URL)
	}
	if class(err) != llmconst.TLS || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without a certificate: %v", err)
	}
	if err := ask(t, Options{}, s.URL); class(err) != llmconst.TLS {
		t.Errorf("an authority that is not known: %v", err)
	}
	stranger := newAuthority(t)
	stranger.make("client", false)
	if err := ask(t, Options{CAFile: a.file("ca.pem"), CertFile: stranger.file("client.pem"), KeyFile: stranger.file("client.key")}, s.URL); class(err) != llmconst.TLS && class(err) != llm.Network { // its alert may come after the line is cut
		t.Errorf("a stranger's certificate: %v", err)
	}
	for want, o := range map[string]Options{
		"needs its key":          {CertFile: a.file("client.pem")},
		"holds none in PEM":      {CAFile: a.file("ca.key")},
		"no such file":           {CAFile: a.file("nothing")},
		"client certificate":     {CertFile: a.file("client.pem"), KeyFile: a.file("ca.key")},
		"is not supported":       {Proxy: "ftp://u:my-password@h"},
		"the proxy is not a URL": {Proxy: "u:my-password@h"},
	} {
		if _, err := o.Client(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "my-password") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// proxy is one that tunnels to a server whatever the address, for those who know
// the password.
type proxy struct {
	to    string
	asked []string
	mu    sync.Mutex
	conns atomic.Int32
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host)
	p.mu.Unlock()
	if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("user:my-password")) {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	there, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	p.conns.Add(1)
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(there, here); there.Close() }()
	_, _ = io.Copy(here, there)
	here.Close()
}

// A proxy with a password, that tunnels TLS with a client's certificate.
func TestProxy(t *testing.T) {
	a := newAuthority(t)
	a.make("client", false)
	s := a.serve()
	p := &proxy{to: s.Listener.Addr().String()}
	server := httptest.NewServer(p)
	defer server.Close()
	o := Options{Proxy: strings.Replace(server.URL, "http://", "http://user:my-password@", 1), CAFile: a.file("ca.pem"), CertFile: a.file("client.pem"), KeyFile: a.file("client.key")}
	if err := ask(t, o, "https://model.example"); err != nil {
		t.Error(err)
	}
	if !slices.Equal(p.asked, []string{"CONNECT model.example:443"}) {
		t.Errorf("the proxy was asked %q", p.asked)
	}
	if got := o.Secrets(); !slices.Contains(got, "my-password") {
		t.Errorf("secrets %q", got)
	}
	wrong := o
	wrong.Proxy = strings.Replace(o.Proxy, "my-password", "not-the-password", 1)
	if err := ask(t, wrong, "https://model.example"); class(err) != llm.Auth || strings.Contains(err.Error(), "not-the-password") {
		t.Errorf("a wrong password: %v", err)
	}
	without := o
	without.NoProxy = "model.example"
	if err := ask(t, without, "https://model.example"); class(err) != llm.Network || strings.Contains(err.Error(), "my-password") {
		t.Errorf("NO_PROXY: %v", err)
	}
	asked := len(p.asked)
	if err := ask(t, o, s.URL); err != nil || len(p.asked) != asked { // this machine
		t.Errorf("loopback: %v, %q", err, p.asked)
	}
	server.Close()
	if err := ask(t, o, "https://model.example"); class(err) != llm.Network || strings.Contains(err.Error(), "my-password") {
		t.Errorf("no proxy there: %v", err)
	}
}
