package main

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/openagent-go/agent/permission"
)

// A configEntry is a setting as the command config shows it.
type configEntry struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func configCommand(h *host) (flags, action) {
	o := new(options)
	return o.flags(), func(_ context.Context, args []string) error {
		if err := none("config", args); err != nil {
			return err
		}
		if o.output == formatStream {
			return usagef("config: --output-format is text or json")
		}
		if err := o.check(); err != nil {
			return err
		}
		entries, err := h.config(o)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, e := range entries {
			rows = append(rows, []string{e.Name, cmp.Or(e.Value, "-"), e.Source})
		}
		return h.list(o.output, entries, "SETTING VALUE SOURCE", rows)
	}
}

// config lists the settings that a run with these options would have.
func (h *host) config(o *options) ([]configEntry, error) {
	p, err := h.provider(o)
	if err != nil {
		return nil, err
	}
	h.secrets = p.secrets()
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	home, err := h.home()
	if err != nil {
		return nil, err
	}
	sessions, err := h.sessionsDir(o.sessionDir, dir)
	if err != nil {
		return nil, err
	}
	mode := flagged("permission-mode", o.mode).or(setting{string(permission.Default), "default"})
	if o.bypass {
		mode.source = "--dangerously-skip-permissions"
	}
	colourless, why := h.noColor()
	noColor := setting{"", why}
	if colourless {
		noColor.value = "true"
	}
	homeSource := "default"
	if h.getenv("OPENAGENT_HOME") != "" {
		homeSource = "OPENAGENT_HOME"
	}
	cwd := "default"
	if o.dir != "" {
		cwd = "--cwd"
	}
	return []configEntry{
		{"provider", p.name.value, p.name.source},
		{"model", p.model.value, p.model.source},
		{"small_model", p.small.value, p.small.source},
		{"base_url", h.oneLine(p.base.value), p.base.source},
		{"api_key", masked(p.key.value), cmp.Or(p.key.source, "not set")},
		{"permission_mode", mode.value, mode.source},
		{"cwd", dir, cwd},
		{"home", home, homeSource},
		{"session_dir", filepath.Clean(sessions), flagged("session-dir", o.sessionDir).or(setting{"", "default"}).source},
		{"no_color", noColor.value, noColor.source},
	}, nil
}

func masked(key string) string {
	if key == "" {
		return ""
	}
	return "***"
}
