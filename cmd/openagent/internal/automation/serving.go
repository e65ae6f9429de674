package automation

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/openagent-go/agent/internal/connlimit"
)

// HeaderTimeout bounds the time for reading the headers of a request.
const HeaderTimeout = 10 * time.Second

const IdleTimeout = time.Minute // of a connection

// Serve answers requests until ctx ends, and returns once the last has its answer.
func Serve(ctx context.Context, server *http.Server, on net.Listener) error {
	l := connlimit.New(on, MaxConnections)
	served := make(chan error, 1)
	go func() { served <- l.Server(server).Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("answering requests: %w", err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if server.Shutdown(closing) != nil {
		server.Close()
	}
	<-served
	return nil
}

const MaxConnections = 256 // at a time; a new one takes the place of the oldest without a valid request

const closeTime = 5 * time.Second
