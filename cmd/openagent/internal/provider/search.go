package provider

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/internal/web"
)

// SearchName is the tool that needs a search engine.
const SearchName = "WebSearch"

// SearchEngine returns the first variable that configures a search engine.
func SearchEngine(h *cli.IO) providers.Setting {
	return providers.Environ(h.Getenv).First(web.SearchVariables...)
}
