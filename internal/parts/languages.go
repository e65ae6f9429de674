package parts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/tools"
)

// LanguageServers returns the language servers of the settings, then the built-in ones. The first
// server that matches a file is used. Nil means only the built-in servers.
func LanguageServers(s *config.Settings) ([]tools.LanguageServer, error) {
	var named []tools.LanguageServer
	if s == nil || !s.Decode(serversKey, &named) {
		return nil, nil
	}
	known := tools.DefaultLanguageServers()
	for i := range named {
		l := &named[i]
		j := slices.IndexFunc(known, func(k tools.LanguageServer) bool { return k.Name == l.Name })
		if j >= 0 {
			*l = changed(known[j], *l)
			known = slices.Delete(known, j, j+1)
		}
		if missing := cmp.Or(lacking("command", l.Command == ""), lacking("extensions", len(l.Extensions) == 0)); missing != "" {
			v, err := s.Get(serversKey)
			if err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s: %s: %s has no %s; add it (only built-in servers may omit it)", v.Source, serversKey, l.Name, missing)
		}
	}
	return append(named, known...), nil
}

const serversKey = "languageServers"

// changed returns a built-in server with the changes from the settings.
func changed(known, said tools.LanguageServer) tools.LanguageServer {
	known.Command = cmp.Or(said.Command, known.Command)
	if said.Args != nil {
		known.Args = said.Args
	}
	if said.Extensions != nil {
		known.Extensions = said.Extensions
	}
	if said.RootMarkers != nil {
		known.RootMarkers = said.RootMarkers
	}
	if said.InitOptions != nil {
		known.InitOptions = said.InitOptions
	}
	known.Env = said.Env
	return known
}

func lacking(member string, missing bool) string {
	if missing {
		return member
	}
	return ""
}
