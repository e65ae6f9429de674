package temporal_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/temporal"
)

// TestServer runs the tests of durable on a Temporal server, with sessions in memory.
// TEMPORAL_TEST_SERVER has its address and a namespace, such as "127.0.0.1:7233 default".
// `temporal server start-dev` is one.
func TestServer(t *testing.T) {
	address, namespace, ok := strings.Cut(os.Getenv("TEMPORAL_TEST_SERVER"), " ")
	if !ok {
		t.Skip("TEMPORAL_TEST_SERVER does not name a server and a namespace; TestWorkflow covers the workflow alone")
	}
	const beat = 2 * time.Second // the least heartbeat that the SDK sends in time
	var tests atomic.Int64
	durabletest.Run(t, false, func(t *testing.T) durabletest.Pair {
		dial := func() client.Client {
			c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Logger: silent{}})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		queue := fmt.Sprintf("test-%d-%d", os.Getpid(), tests.Add(1))
		db := &durabletest.Memory{Lease: beat}
		engine := dial()
		t.Cleanup(engine.Close)
		return durabletest.Pair{
			Connect: func() (durable.Backend, func()) { c := db.Connect(); return c, c.Kill },
			Engine: func(durable.Backend) durable.Engine {
				return temporal.Engine{Client: engine, Queue: queue, Heartbeat: beat}
			},
			Work: func(drain, dead context.Context, w *durable.Worker) {
				c := dial()
				ended := make(chan struct{})
				stop, end := context.WithCancel(drain)
				go func() {
					defer close(ended)
					defer c.Close()
					if err := temporal.Run(stop, c, queue, w, temporal.Options{}); err != nil && dead.Err() == nil {
						t.Error(err)
					}
				}()
				defer end()
				select {
				case <-ended:
				case <-dead.Done():
					c.Close() // nothing that it does reaches the server
				}
			},
			Beat: beat,
		}
	})
}

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
