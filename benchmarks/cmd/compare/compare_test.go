package main

import (
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/benchmarks/report"
)

// The floor is built, measured in processes of its own, and shown.
func TestCompareFloor(t *testing.T) {
	t.Chdir("../..")
	p := plan{peers: []string{"floor"}, phases: []string{"loop", "wire"}, rounds: 2, samples: 1, sample: time.Microsecond, limit: time.Second}
	r, err := p.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Results {
		if o.Error != "" {
			t.Errorf("%s, %s %s: %s", o.Peer, o.Phase, o.Point, o.Error)
		}
	}
	var b strings.Builder
	if err := report.Print(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "| floor | anthropic | ") || !strings.Contains(b.String(), "| floor (HTTP) | ") {
		t.Errorf("the floor is not in the tables:\n%s", b.String())
	}
}
