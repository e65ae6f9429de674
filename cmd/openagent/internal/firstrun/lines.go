package firstrun

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/text"
)

// AskInLines asks a person, in lines of plain text, what to do without a key of the provider with a
// name. It reports whether they
// have chosen a model, so that the conversation can be opened again. The function demo shows the
// demo.
func AskInLines(ctx context.Context, h *cli.IO, name string, demo func() error) (chosen bool, err error) {
	for {
		servers := FindServers(ctx)
		fmt.Fprint(h.Err, h.Wrap(choices(h, name, servers)))
		answer, err := ask(ctx, h, "a number (empty: leave): ")
		if err != nil {
			return false, stopped(ctx, h, err)
		}
		said := ""
		switch answer {
		case "", "5":
			return false, nil
		case "1":
			err = demo()
		case "2":
			said, err = enterKey(ctx, h, name)
		case "3":
			said, err = chooseServer(ctx, h, servers)
		case "4":
			var command string
			if command, err = ask(ctx, h, "a command that prints the key, such as pass show anthropic (empty: back): "); err == nil && command != "" {
				said, err = SaveKeyCommand(ctx, h, command)
			}
		default:
			err = cli.Usagef("%s is not a number from 1 to 5", cli.Clip(answer))
		}
		switch {
		case ctx.Err() != nil:
			return false, stopped(ctx, h, err)
		case err != nil:
			h.Warn("%v", err)
		case said != "":
			fmt.Fprintln(h.Err, h.OneLine(said))
			return true, nil
		}
	}
}

// stopped returns the error of a question that a signal has ended, or else err.
func stopped(ctx context.Context, h *cli.IO, err error) error {
	if ctx.Err() == nil {
		return err
	}
	fmt.Fprintln(h.Err)
	return cli.ExitCode(cli.SignalCode(ctx))
}

// choices is the page that AskInLines shows.
func choices(h *cli.IO, name string, servers []Server) string {
	var ports []string
	for _, s := range KnownServers() {
		ports = append(ports, s.Port())
	}
	last := len(ports) - 1
	found := "no model server on the ports " + strings.Join(ports[:last], ", ") + " and " + ports[last]
	local := "start Ollama, llama.cpp, vLLM or LM Studio before"
	if len(servers) > 0 {
		var names []string
		for _, s := range servers {
			names = append(names, fmt.Sprintf("%s with %s", s.Title, cli.Plural(len(s.Models), "model")))
		}
		found = strings.Join(names, ", ")
		local = found
	}
	return fmt.Sprintf(`
openagent needs a model. There is no API key for %s. Found %s.

  1  Try it now, without a key     a few seconds: simulated model, real tools
  2  Enter an API key              Anthropic, OpenAI, OpenRouter and others
  3  Use a model of this machine   %s
  4  Get the key from a command    1Password, pass, vault and others
  5  Leave

`, h.OneLine(name), found, local)
}

// enterKey asks for a provider and its key.
func enterKey(ctx context.Context, h *cli.IO, name string) (said string, err error) {
	all := Providers()
	var rows strings.Builder
	for i, p := range all {
		fmt.Fprintf(&rows, "  %2d  %-18s or set %s\n", i+1, p.Title, p.Variable)
	}
	fmt.Fprint(h.Err, h.Wrap(rows.String()))
	usual := max(0, slices.IndexFunc(all, func(p Provider) bool { return p.Name == name }))
	answer, err := ask(ctx, h, fmt.Sprintf("a number (empty: %d, %s): ", usual+1, all[usual].Title))
	if err != nil {
		return "", err
	}
	at, err := numbered(answer, usual, len(all))
	if err != nil {
		return "", err
	}
	p, model := all[at], ""
	if p.Model == "" {
		if model, err = ask(ctx, h, "the name of a model of "+p.Title+" (empty: back): "); err != nil || model == "" {
			return "", err
		}
	}
	key, err := h.AskSecret(ctx, fmt.Sprintf("API key of %s (it is not shown, empty: back): ", p.Title))
	if err != nil || strings.TrimSpace(key) == "" {
		return "", err
	}
	return SaveKey(ctx, h, p.Name, key, model)
}

// chooseServer asks for a model of the servers that were found.
func chooseServer(ctx context.Context, h *cli.IO, servers []Server) (said string, err error) {
	type offer struct {
		server Server
		model  string
	}
	const most = 40 // models on the screen
	var offers []offer
	var rows strings.Builder
	for _, s := range servers {
		for _, m := range s.Models {
			if len(offers) < most {
				offers = append(offers, offer{s, m})
				fmt.Fprintf(&rows, "  %2d  %s  (%s)\n", len(offers), h.Visible(text.Runes(m, 100)), s.Title)
			}
		}
	}
	if len(offers) == 0 {
		return "", cli.Usagef("no model server was found; start one that has a model, such as ollama serve, and choose 3 again")
	}
	fmt.Fprint(h.Err, h.Wrap(rows.String()))
	answer, err := ask(ctx, h, "a number (empty: 1): ")
	if err != nil {
		return "", err
	}
	at, err := numbered(answer, 0, len(offers))
	if err != nil {
		return "", err
	}
	return UseServer(ctx, h, offers[at].server, offers[at].model)
}

// numbered returns the index that an answer stands for; "" is the usual one.
func numbered(answer string, usual, n int) (int, error) {
	if answer == "" {
		return usual, nil
	}
	i, err := strconv.Atoi(answer)
	if err != nil || i < 1 || i > n {
		return 0, cli.Usagef("%s is not a number from 1 to %d", cli.Clip(answer), n)
	}
	return i - 1, nil
}

// ask asks for a line. What was typed before the question is no answer.
func ask(ctx context.Context, h *cli.IO, question string) (string, error) {
	h.DiscardInput()
	line, err := h.AskLine(ctx, question)
	return strings.TrimSpace(line), err
}
