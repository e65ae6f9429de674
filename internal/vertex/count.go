package vertex

import (
	"strings"

	"github.com/openagent-go/agent/internal/claude"
)

// tally returns how the end point that counts tokens is asked, which costs nothing
// (https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/count-tokens).
// It knows models by their names without a version. The world and the continents do not
// count: a region within them does.
func (s *session) tally(model string) (claude.Tally, error) {
	region := s.client.region()
	switch region {
	case "global", "us":
		region = "us-east5"
	case "eu":
		region = "europe-west1"
	}
	name, _, _ := strings.Cut(model, "@")
	url, err := s.at(region, "count-tokens", "rawPredict")
	return claude.Tally{URL: url, Model: name}, err
}
