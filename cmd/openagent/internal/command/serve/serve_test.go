package serve

import (
	"slices"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/serve"
)

// The secrets of a session are known after it is closed: a share may show what it has on record.
func TestSecretsOfClosedSessions(t *testing.T) {
	opened := &app.App{Coder: &coding.Coder{Agent: &agent.Agent{Secrets: []string{"of the first"}}}}
	a := &apps{open: map[string]*app.App{"first": opened}}
	a.close(serve.Place{ID: "first"})
	if got := a.secrets(); !slices.Equal(got, []string{"of the first"}) {
		t.Errorf("%q", got)
	}
}
