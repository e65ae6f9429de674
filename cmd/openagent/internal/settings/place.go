package settings

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/config"
)

// storeKey is the setting of --store.
const storeKey = "store"

// A Place says where sessions are stored: in a folder or in a database. The zero value is what the
// settings say, which is a folder for each project if they say nothing.
type Place struct {
	Dir     string   // of --session-dir
	Store   string   // of --store
	options *Options // for the settings; nil: none are given
}

// Place returns the place of the sessions that the flags and the settings say.
func (o *Options) Place() Place { return Place{o.SessionDir, o.store, o} }

// Flags are the flags of a place.
func (p *Place) Flags() cli.Flags {
	return placeFlags(&p.Dir, &p.Store)
}

func placeFlags(dir, store *string) cli.Flags {
	return cli.Flags{
		{Name: "session-dir", Arg: "DIR", Path: true, Help: "folder that holds the sessions", Set: cli.Text(dir)},
		{Name: "store", Arg: "URL", Help: "database that holds the sessions, as postgres://user@host/database; the password comes from PGPASSWORD or ~/.pgpass", Set: cli.Text(store)},
	}
}

// Database returns the URL of the database that a project's sessions are in, and what says so. It is ""
// if they are in a folder.
func (p Place) Database(h *cli.IO, project string) (url, source string, err error) {
	switch {
	case p.Dir != "" && p.Store != "":
		return "", "", cli.Usagef("use --session-dir or --store, not both")
	case p.Dir != "":
		return "", "", nil
	case p.Store != "":
		return p.Store, "--store", nil
	}
	o := p.options
	if o == nil {
		o = new(Options)
	}
	s := o.Settings
	if s == nil {
		if s, err = config.Load(ConfigOptions(h, o, project)); err != nil {
			return "", "", LoadError(err)
		}
	}
	v, err := s.Get(storeKey)
	if err != nil {
		panic(err) // the table has the key
	}
	s.Decode(storeKey, &url)
	return url, v.Source.String(), nil
}
