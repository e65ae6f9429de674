package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/hook"
	hookshell "github.com/openagent-go/agent/hook/shell"
)

// A plugin is a folder of --plugin-dir: tools/, skills/, agents/, hooks/hooks.json and
// .mcp.json, each of which counts once it is trusted as it is.

const (
	hooksName      = "hooks.json"         // in hooks/ of a plugin
	maxHooksFile   = 1 << 20              // bytes
	pluginVariable = "CLAUDE_PLUGIN_ROOT" // the plugin's folder, in its hooks and its .mcp.json
)

// A hookFile is the hooks of a plugin.
type hookFile struct {
	root, place, sum string // the plugin's folder and the file, real paths
	hooks            []config.Hook
}

// readHookFile returns nil where there is none.
func readHookFile(plugin string) (*hookFile, error) {
	place, err := filepath.EvalSymlinks(filepath.Join(plugin, "hooks", hooksName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if place, err = filepath.Abs(place); err != nil {
		return nil, err
	}
	data, err := readFile(place, maxHooksFile)
	if err != nil {
		return nil, err
	}
	var w struct {
		Hooks json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("%s: reading its hooks: %w", place, err)
	}
	f := &hookFile{root: filepath.Dir(filepath.Dir(place)), place: place}
	if len(w.Hooks) > 0 {
		if f.hooks, err = config.ParseHooks(w.Hooks, config.Source{Scope: config.Flags, File: place}); err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
	}
	sum := sha256.Sum256(data)
	f.sum = hex.EncodeToString(sum[:])
	return f, nil
}

// lines are the hooks as a question shows them.
func (f *hookFile) lines(h *host) string {
	var b strings.Builder
	for _, x := range f.hooks {
		about := string(x.Event)
		if x.Match != "" {
			about += " (" + x.Match + ")"
		}
		rows := textRows(x.Command)
		fmt.Fprintf(&b, "  %s: %s\n", h.visible(about), h.visible(rows[0]))
		for _, row := range rows[1:] {
			fmt.Fprintf(&b, "    %s\n", h.visible(row))
		}
	}
	return b.String()
}

// findPluginHooks finds the hooks of the plugins that are trusted. With ask a person
// at the terminal is asked about the others.
func (h *host) findPluginHooks(ctx context.Context, s *setup, ask bool) error {
	for _, dir := range s.options.plugins {
		f, err := readHookFile(dir)
		if err != nil { // a guard that cannot be read must not be left out in silence
			return usagef("--plugin-dir %s: %w; correct the file or leave the plugin out", dir, err)
		}
		if f == nil || len(f.hooks) == 0 {
			continue
		}
		yes, err := h.trustsPluginHooks(ctx, f, dir, ask)
		if err != nil {
			return err
		}
		if yes {
			s.pluginHooks = append(s.pluginHooks, f)
		}
	}
	return nil
}

func (h *host) trustsPluginHooks(ctx context.Context, f *hookFile, dir string, ask bool) (bool, error) {
	t, err := h.readTrust()
	if err != nil {
		h.complain("%v", err)
		return false, nil
	}
	switch {
	case t.Files[f.place].Sum == f.sum:
		return true, nil
	case !ask:
		h.complain("the hooks of %s are not called: the file is not trusted as it is; look at it, then: openagent trust add %s", f.place, quote(dir))
		return false, nil
	}
	if _, err := fmt.Fprintf(h.err, "The file %s names commands that would run as hooks:\n%s", h.visible(f.place), f.lines(h)); err != nil {
		return false, err
	}
	yes, err := h.confirm(ctx, "Do you trust them, as they are now? [y/N] ")
	if err != nil || !yes {
		return false, err
	}
	return true, h.trustHooks(ctx, f)
}

func (h *host) trustHooks(ctx context.Context, f *hookFile) error {
	return h.changeTrust(ctx, func(t trusted) { t.Files[f.place] = trustedFile{f.sum, now()} })
}

// isHookFile reports whether a trusted file is one of a plugin's hooks.
func isHookFile(place string) bool {
	return filepath.Base(place) == hooksName && filepath.Base(filepath.Dir(place)) == "hooks"
}

// hookFileState says how a file of hooks stands that was trusted.
func hookFileState(place string, t trustedFile) string {
	f, err := readHookFile(filepath.Dir(filepath.Dir(place)))
	switch {
	case err == nil && f == nil:
		return "gone"
	case err != nil || f.place != place || f.sum != t.Sum:
		return "changed"
	}
	return "trusted"
}

// hooksOfPlugins are the hooks of trusted plugins, as a run calls them.
func (s *setup) hooksOfPlugins() []hook.Hook {
	if len(s.pluginHooks) == 0 || !s.hooked() {
		return nil
	}
	var list []hook.Hook
	for _, f := range s.pluginHooks {
		for _, w := range f.hooks {
			line := "export " + pluginVariable + "=" + quote(f.root) + "\n" + w.Command
			x := hookshell.Hook(w.Event, w.Match, hookshell.Command{Workspace: s.hookPlace(), Line: line, Project: s.project, Async: w.Async})
			x.Timeout, x.Name = w.Timeout, w.Command
			list = append(list, x)
		}
	}
	return list
}

// withinPlugin is h.getenv for the files of a plugin, which may name its folder.
func (h *host) withinPlugin(dir string) func(string) string {
	return func(name string) string {
		if name == pluginVariable {
			return dir
		}
		return h.getenv(name)
	}
}
