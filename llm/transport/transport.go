// Package transport makes HTTP clients for models: through a proxy, with the certificates
// of an organization, or with a client certificate. Without it, clients use
// http.DefaultClient, which obeys HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
//
//	c, err := transport.Options{Proxy: "http://proxy.example.com:3128", CAFile: "ca.pem"}.Client()
//	m := (&anthropic.Client{HTTP: c}).Model("claude-sonnet-4-6")
package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/openagent-go/agent/internal/plainfile"
)

// Direct, as a Proxy, stands for none, whatever the variables say.
const Direct = "direct"

// Options say how servers are reached. The zero Options are the default.
type Options struct {
	// Proxy is a URL of scheme http, https, socks5 or socks5h, with user and password
	// where it wants them; Direct: none; "": what the variables say.
	Proxy string
	// NoProxy lists hosts, domains, addresses and networks that are reached without
	// Proxy, separated by commas; "": NO_PROXY. This machine always is.
	NoProxy string
	// CAFile holds certificates, in PEM, that are trusted beside those of the system.
	CAFile string
	// CertFile and KeyFile hold our own certificate, in PEM, for servers that ask for one.
	CertFile, KeyFile string
}

// Client returns an HTTP client; for the zero Options nil, which stands for
// http.DefaultClient. Its errors hold no password.
func (o Options) Client() (*http.Client, error) {
	if o == (Options{}) {
		return nil, nil
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	if err := o.proxy(t); err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		data, err := read(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading certificates: %w", err)
		}
		if !pool.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("reading certificates: %s holds none in PEM", o.CAFile)
		}
		c.RootCAs = pool
	}
	switch {
	case o.CertFile != "" && o.KeyFile != "":
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	case o.CertFile != "" || o.KeyFile != "":
		return nil, errors.New("a client certificate needs its key: give both files")
	}
	t.TLSClientConfig, t.ForceAttemptHTTP2 = c, true
	return &http.Client{Transport: t}, nil
}

func (o Options) proxy(t *http.Transport) error {
	switch {
	case o.Proxy == Direct:
		t.Proxy = nil
		return nil
	case o.Proxy == "" && o.NoProxy == "":
		return nil
	}
	c := httpproxy.FromEnvironment()
	if o.NoProxy != "" {
		c.NoProxy = o.NoProxy
	}
	if o.Proxy != "" {
		u, err := url.Parse(o.Proxy)
		if err != nil || u.Host == "" {
			return errors.New("the proxy is not a URL; write one such as http://proxy.example:3128") // not the text: it may hold a password
		}
		switch u.Scheme {
		case "http", "https", "socks5", "socks5h":
		default:
			return fmt.Errorf("the proxy's scheme %q is not supported; use http, https, socks5 or socks5h", u.Scheme)
		}
		c.HTTPProxy, c.HTTPSProxy, c.CGI = o.Proxy, o.Proxy, false
	}
	choose := c.ProxyFunc()
	t.Proxy = func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
	return nil
}

// Secrets returns what must not be seen of the options: user and password of the proxy.
func (o Options) Secrets() []string {
	u, err := url.Parse(o.Proxy)
	if err != nil || u.User == nil {
		return nil
	}
	password, _ := u.User.Password()
	var list []string
	for _, s := range []string{password, u.User.String()} {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

const maxFile = 8 << 20 // bytes of a file of certificates or keys

func read(name string) ([]byte, error) { return plainfile.ReadFile(name, maxFile) }
