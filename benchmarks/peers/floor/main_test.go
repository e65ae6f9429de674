package main

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/openagent-go/agent/benchmarks/harness"
	"github.com/openagent-go/agent/benchmarks/wire"
)

// Each phase that the peers take part in gives figures and no error.
func TestPhases(t *testing.T) {
	server := httptest.NewServer(new(wire.Server))
	defer server.Close()
	all := []harness.Options{
		{Phase: "loop", Turns: 3},
		{Phase: "crowd", Turns: 2, Agents: 5},
		{Phase: "wire", Point: harness.ByAgent, Deltas: 20, URL: server.URL + "/burst/20"},
		{Phase: "wire", Point: harness.ByClient, Deltas: 20, URL: server.URL + "/flush/20"},
		{Phase: "first", Point: harness.ByAgent, URL: server.URL + "/first"},
		{Phase: "build", Point: "shared"},
		{Phase: "build", Point: "own"},
	}
	for _, p := range peers {
		for _, o := range all {
			o.Peer, o.Samples, o.Sample, o.Limit = p.Name, 1, time.Microsecond, time.Second
			r := harness.Measure(o, p)
			if r.Error == harness.ErrAbsent.Error() {
				continue
			}
			if r.Error != "" || r.Samples < 1 || r.Wall <= 0 {
				t.Errorf("%s, %s %s: %+v", p.Name, o.Phase, o.Point, r)
			}
		}
	}
}
