package triggers

import (
	"context"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/triggerstore"
)

// triggersSecret shows the secret of a trigger on a terminal, or sets another one.
func triggersSecret(ctx context.Context, h *cli.IO, o *triggerOptions, id string) error {
	place, err := findTriggerPlace(h)
	if err != nil {
		return err
	}
	if o.set {
		return takeSecret(ctx, h, place, id)
	}
	if !o.show && !h.OutTerminal {
		return cli.Usagef("the secret is shown only on a terminal; add --show to show it anyway")
	}
	r, err := place.store.Get(ctx, id)
	if err != nil {
		return noTrigger(id, err)
	}
	return h.Show(string(r.Secrets[0]) + "\n")
}

func takeSecret(ctx context.Context, h *cli.IO, place triggerPlace, id string) error {
	if _, err := place.store.Get(ctx, id); err != nil {
		return noTrigger(id, err)
	}
	text, err := cli.ReadStdin(ctx, h, false)
	if err != nil {
		return err
	}
	secret := triggerstore.Secret(strings.TrimSpace(text))
	err = place.store.Update(ctx, id, func(r *triggerstore.Record) (*triggerstore.Record, error) {
		if r == nil {
			return nil, triggerstore.ErrUnknown
		}
		r.Secrets = []triggerstore.Secret{secret}
		if err := r.Check(); err != nil {
			return nil, cli.Usagef("triggers secret --set: %w", err)
		}
		return r, nil
	})
	if err != nil {
		return noTrigger(id, err)
	}
	return nil
}
