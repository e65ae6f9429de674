package slash

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/live"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/sessiondir"
)

// PrepareLive makes /live and /share work. status is told whether others can see the session.
func (c *Commands) PrepareLive(status func(live.Status)) {
	folder := ""
	if !c.App.Options.Ephemeral {
		folder = sessiondir.Path(c.App.Store)
	}
	said := map[string]string{"allow": "allowed", "deny": "denied", "answer": "answered"}
	c.Live = &live.Conversation{H: c.H, Options: c.App.Options, Project: c.App.Project, Sessions: folder, Store: c.App.Store, Session: c.App.Session, Status: status,
		Answered: func(_, answer, _ string) { c.Screen.Line(term.Dim, "%s in the browser", said[answer]) }}
}

// StartLive shows the session to browsers, as /live does.
func (c *Commands) StartLive(ctx context.Context) {
	if err := c.live(ctx, nil); err != nil {
		c.Screen.Line(term.Red, "! %s", c.H.OneLine(err.Error()))
	}
}

// live shows the session to browsers, or stops that.
func (c *Commands) live(ctx context.Context, words []string) error {
	words, hosts, err := takeHosts(words)
	if err != nil {
		return err
	}
	watch := len(words) == 1 && words[0] == "watch"
	switch {
	case len(words) == 1 && words[0] == "off":
		was, err := c.Live.Off(ctx)
		if err == nil && !was {
			return errors.New("no browser can see this session; /live shows it")
		}
		if was {
			c.Screen.Line(term.Dim, "live off: the pages of browsers have ended")
		}
		return err
	case len(words) > 0 && !watch:
		return errors.New("write /live, /live watch or /live off, perhaps with --host NAME")
	}
	address, err := c.Live.On(ctx, watch, hosts)
	if err != nil {
		return err
	}
	may := "it may answer questions; /live watch forbids that"
	if watch {
		may = "it may only watch"
	}
	c.Screen.Line(term.Plain, "%s", address)
	c.Screen.Line(term.Dim, "opens this session in one browser, within a minute: %s; /live off ends it", may)
	for _, name := range hosts {
		c.Screen.Line(term.Dim, "your tunnel for %s has to lead to %s", c.H.OneLine(name), strings.TrimPrefix(c.Live.Address(), "http://"))
	}
	return nil
}

// takeHosts takes the values of --host out of words.
func takeHosts(words []string) (rest, hosts []string, err error) {
	for i := 0; i < len(words); i++ {
		value, given := strings.CutPrefix(words[i], "--host=")
		if words[i] == "--host" {
			if i++; i == len(words) {
				return nil, nil, errors.New("--host needs a name")
			}
			value, given = words[i], true
		}
		if given {
			hosts = append(hosts, strings.Split(value, ",")...)
		} else {
			rest = append(rest, words[i])
		}
	}
	return rest, hosts, nil
}

const shareUse = "write /share [now] [for TIME] [without results], then /share yes; or /share list, /share revoke ID|all"

// share makes a link to the session for others, after a preview.
func (c *Commands) share(ctx context.Context, words []string) error {
	words, hosts, err := takeHosts(words)
	if err != nil {
		return err
	}
	show := func(lines []string, err error) error {
		for _, l := range lines {
			c.Screen.Line(term.Plain, "%s", l)
		}
		return err
	}
	switch {
	case len(words) == 1 && words[0] == "yes":
		return show(c.Live.Confirm(ctx))
	case len(words) == 1 && words[0] == "list":
		lines, err := c.Live.List(ctx)
		if err == nil && len(lines) == 0 {
			c.Screen.Line(term.Dim, "this session is not shared")
		}
		return show(lines, err)
	case len(words) == 2 && words[0] == "revoke":
		n, err := c.Live.Revoke(ctx, words[1])
		c.Screen.Line(term.Dim, "revoked %s", cli.Plural(n, "share"))
		return err
	}
	r := live.Request{Live: true}
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "now":
			r.Live = false
		case words[i] == "for" && i+1 < len(words):
			i++
			if _, err := time.ParseDuration(words[i]); err != nil {
				return errors.New("a time is such as 30m or 24h")
			}
			r.Lasts = words[i]
		case words[i] == "without" && i+1 < len(words) && words[i+1] == "results":
			i++
			r.Results = "omit"
		default:
			return errors.New(shareUse)
		}
	}
	lines, err := c.Live.Preview(ctx, r, hosts)
	if err := show(lines, err); err != nil {
		return err
	}
	what := "all of this session, and what happens later"
	if !r.Live {
		what = "this session until now"
	}
	c.Screen.Line(term.Yellow, "/share yes makes a link to %s, read-only, for anybody who has it", what)
	return nil
}
