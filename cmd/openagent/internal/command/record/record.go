// Package record is the command "openagent record". It runs one prompt and keeps the traffic with the
// provider for tests.
package record

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/oneshot"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/httptape"
)

// Command returns the command "openagent record".
func Command(h *cli.IO) cli.Command {
	o := new(settings.Options)
	flags := func() cli.Flags {
		return append(cli.ListFlags(&o.Output), o.JobFlags()...)
	}
	return cli.Command{Name: "record", Args: "FILE [prompt]", MinArgs: 1, MaxArgs: 2, Summary: "Run one prompt and keep the provider's traffic for tests",
		Details: `It runs the prompt as openagent -p does, and writes the requests and answers to FILE.
llmtest.Replay of the library answers from it.
Headers of requests and queries of addresses are left out.
Keys, tokens, e-mail addresses and ids of organisations are replaced.
What you and the files say stays in it: read FILE before you share it.
`,
		Examples: []string{"openagent record testdata/weather.json 'What is the weather in Bern?'"},
		Flags:    flags,
		Run:      func(ctx context.Context, args []string) error { return record(ctx, h, o, args[0], args[1:]) }}
}

func record(ctx context.Context, h *cli.IO, o *settings.Options, file string, args []string) (err error) {
	if file, err = filepath.Abs(file); err != nil { // --cwd changes the folder
		return err
	}
	if err := checkFile(file); err != nil {
		return err
	}
	o.Print = true
	if err := o.Check(); err != nil {
		return err
	}
	text, err := cli.PromptText(ctx, h, args, false)
	if err != nil {
		return err
	}
	tape := new(httptape.Recorder)
	o.Wire = func(t http.RoundTripper) http.RoundTripper {
		if tape.Transport == nil {
			tape.Transport = t
		}
		return tape
	}
	s, err := app.Open(ctx, h, o, nil, nil)
	if err != nil {
		return err
	}
	defer func() {
		if ended := s.Close(); ended != nil {
			h.Warn("%v", ended)
		}
		if tape.Empty() {
			if err == nil {
				err = fmt.Errorf("record: the provider %s got no request, so %s is not written; choose a provider with --provider", s.Provider.Name.Value, file)
			}
			return
		}
		tape.Secrets = h.Secrets
		switch saved := tape.Save(file); {
		case saved != nil:
			err = errors.Join(err, saved)
		default:
			h.Warn("the traffic is in %s", file)
		}
	}()
	return oneshot.Run(ctx, h, s, agent.Input{Text: text})
}

// checkFile returns an error if the file has something else than a recording, which it would replace.
func checkFile(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return cli.Usagef("record: %w", err)
	case !info.Mode().IsRegular():
		return cli.Usagef("record: %s is not a file; name a file", file)
	}
	if _, err := httptape.Open(file); err != nil {
		return cli.Usagef("record: %s exists and is not a recording; name another file", file)
	}
	return nil
}
