//go:build unix

package custom_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tools/custom"
	"github.com/openagent-go/agent/workspace"
)

// A folder that is not the user's own has no tools until the program agrees to its files.
func TestSet(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for folder, name := range map[string]string{"own": "mine.sh", "foreign": "tides.sh"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, name), []byte("#!/bin/sh\necho '{\"description\": \"x\"}'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	var trust bool
	var asked, warned []string
	untrusted := 0
	set := &custom.Set{
		Workspace: ws, Builtin: []string{"mine"},
		Folders: []custom.Folder{{Path: filepath.Join(dir, "own"), Trusted: true}, {Path: filepath.Join(dir, "foreign")}},
		Trusted: func(dir string, files []string, sum string) bool {
			asked = append(asked, filepath.Base(dir)+" "+strings.Join(files, ",")+" "+sum)
			return trust
		},
		Warn: func(err error) {
			if errors.Is(err, custom.ErrUntrusted) {
				untrusted++
				return
			}
			warned = append(warned, err.Error())
		},
	}
	names := func() (all []string) {
		list, err := set.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			all = append(all, one.Spec().Name)
		}
		return all
	}
	if got := names(); !slices.Equal(got, []string{"mine"}) || untrusted != 1 {
		t.Errorf("without trust there are %v, and %d warnings", got, untrusted)
	}
	trust = true
	if got := names(); !slices.Equal(got, []string{"mine", "tides"}) {
		t.Errorf("with trust there are %v", got)
	}
	if len(asked) != 2 || asked[0] != asked[1] || !strings.HasPrefix(asked[0], "foreign tides.sh ") || len(asked[0]) < 64 {
		t.Errorf("asked about %q", asked)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "replaces the built-in one") {
		t.Errorf("warned of %q", warned)
	}
}
