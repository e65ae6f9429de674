package triggerstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/web"
)

const (
	sendTime  = 30 * time.Second
	maxAnswer = 64 << 10 // bytes
)

// A Client starts triggers of others. The zero value is usable. It keeps no
// connections and follows no redirects.
type Client struct {
	// HTTP is the client whose Transport makes the requests; its other fields are
	// not used. Nil: the default transport with the proxies of the environment.
	HTTP *http.Client
	// AllowPrivate lets triggers of this machine (loopback) and of private networks
	// be started. Link-local addresses, multicast and the metadata services of clouds
	// are refused all the same.
	AllowPrivate bool
	Timeout      time.Duration // of a request; 0: 30 s

	once   sync.Once
	client http.Client
}

// An Answer is the answer of the other side.
type Answer struct {
	Status int
	Run    string // id of the run there, "" if it did not say
	Text   string // the body, at most 64 KB of it
}

// A StatusError is an answer that does not say that the trigger was started.
type StatusError struct{ Answer }

func (e *StatusError) Error() string {
	switch {
	case e.Status/100 == 3:
		return fmt.Sprintf("it redirects (%d), which is not followed", e.Status)
	case e.Status == http.StatusUnauthorized:
		return "it refused the request (401): the secrets differ, the clocks do, or there is no such trigger"
	}
	return fmt.Sprintf("it answered %d %s", e.Status, http.StatusText(e.Status))
}

// Send signs body with the secret and sends it to the trigger at target. The
// error is a [*StatusError] if the answer is not of the 2xx kind; it never holds
// the secret.
func (c *Client) Send(ctx context.Context, target string, secret Secret, body []byte) (Answer, error) {
	u, err := web.Parse(target)
	if err != nil {
		return Answer{}, fmt.Errorf("reading the address of a trigger: %w", err)
	}
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = sendTime
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("making the request: %w", err)
	}
	req.GetBody = nil // a request is sent once: its nonce holds for one
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "openagent-go")
	message{method: req.Method, host: u.Host, target: u.RequestURI(), body: sha256.Sum256(body)}.sign(secret, time.Now()).write(req.Header)
	resp, err := c.transport().Do(req)
	if err != nil {
		var wrapped *url.Error // its text repeats the URL
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return Answer{}, fmt.Errorf("sending to %s: %w", u.Host, err)
	}
	defer resp.Body.Close()
	a := Answer{Status: resp.StatusCode}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	a.Text = string(data)
	if resp.StatusCode/100 != 2 {
		return a, &StatusError{a}
	}
	if err != nil {
		return a, fmt.Errorf("reading the answer of %s: %w", u.Host, err)
	}
	var s started
	if json.Unmarshal(data, &s) == nil && isToken(s.Run, 1, maxID) {
		a.Run = s.Run
	}
	return a, nil
}

func (c *Client) transport() *http.Client {
	c.once.Do(func() {
		var base http.RoundTripper
		if c.HTTP != nil {
			base = c.HTTP.Transport
		}
		c.client.Transport = (&web.Guard{Private: c.AllowPrivate}).Transport(base)
		c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	})
	return &c.client
}
