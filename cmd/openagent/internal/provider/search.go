package provider

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/providers"
)

// SearchName is the tool that needs a search engine.
const SearchName = "WebSearch"

// SearchVariables name the engine of WebSearch, the first that is set counts.
var SearchVariables = []string{"BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY", "SEARXNG_URL"}

// SearchEngine returns the first variable that configures a search engine.
func SearchEngine(h *cli.IO) providers.Setting {
	return providers.Environ(h.Getenv).First(SearchVariables...)
}
