package trigger

import (
	"context"
	"net/http"
	"sync"

	"github.com/openagent-go/agent/internal/triggerstore"
)

// A Client starts triggers of others. The zero value is usable. It keeps no
// connections and follows no redirects. A request takes at most 30 seconds.
type Client struct {
	// HTTP is the client whose Transport makes the requests; its other fields are
	// not used. Nil: the default transport with the proxies of the environment.
	HTTP *http.Client
	// AllowPrivate lets triggers of this machine (loopback) and of private networks
	// be started. Link-local addresses, multicast and the metadata services of clouds
	// are refused all the same.
	AllowPrivate bool

	once  sync.Once
	inner triggerstore.Client
}

// Send signs body with the secret, sends it to the trigger at target and returns the id of the
// run there, "" if the other side did not say. The error names a status that is not of the 2xx
// kind; it never holds the secret.
func (c *Client) Send(ctx context.Context, target, secret string, body []byte) (run string, err error) {
	c.once.Do(func() { c.inner.HTTP, c.inner.AllowPrivate = c.HTTP, c.AllowPrivate })
	a, err := c.inner.Send(ctx, target, triggerstore.Secret(secret), body)
	return a.Run, err
}
