package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/openagent-go/agent/internal/guarded"
)

func TestGuarded(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	for _, name := range []string{
		"home/x", ".git/config", ".git/HEAD", ".git/modules/sub/HEAD", ".git/worktrees/tree/HEAD", "a/b/.git/config", "a/.bashrc",
		"a/.npmrc", "home/.npmrc", "a/x.code-workspace", "a/.github/workflows/x.yml", "a/.github/CODEOWNERS", "a/.config/git/config", "a/.vscode/x", "a/b/c/d/e/.vscode/x", "node_modules/x/.vscode/x", "real/x",
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := "[core]\n\tbare = false\n\thooksPath = .githooks\n[user]\n\tpath = mine\n[include]\n\tpath = ../shared/config\n" +
		"[includeIf \"gitdir:x\"] path = \"../more.config\"\n[include]\n\tpath = /etc/gitconfig\n"
	if err := os.WriteFile(filepath.Join(root, ".git/config"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(root, ".claude")); err != nil {
		t.Skip(err)
	}
	got, unsearched := guardedBelow([]string{root, filepath.Join(root, "absent")})
	if len(unsearched) > 0 {
		t.Errorf("not searched: %q", unsearched)
	}
	for name, want := range map[string]bool{
		".git/config": true, ".git/hooks": true, ".git/commondir": true, ".git/info/attributes": true, ".git": false, ".git/objects": false,
		".git/modules/sub/config": true, ".git/modules/sub/hooks": true, ".git/worktrees/tree/config.worktree": true,
		".githooks": true, "shared/config": true, "more.config": true, "mine": false, "shared": false,
		"a/b/.git/hooks": true, "a/.bashrc": true, "a/.vscode": true, ".mcp.json": true, ".openagent": true, ".claude": true, "real": true,
		"a/.npmrc": true, "home/.npmrc": true, ".npmrc": false, "a/x.code-workspace": true, "a/.github/workflows": true, "a/.github": false, "a/.config/git": true, ".cursor": true, ".codex": true,
		".gemini": true, ".vimrc": true, "home/.vimrc": true, "home/.cursor": true, "home/.config/git": true, "home/.config/fish": true, "home/.config/nvim": true, "home/.config/Code": true,
		"home/.local/bin": true, "home/.config/systemd": true, ".local/bin": false, "home/.agents": true, "home/.emacs.d": true,
		"home/.bashrc": true, "home/.ssh": true, ".bashrc": false, "a/.mcp.json": false, "a/b/c/d/e/.vscode": true, "node_modules/x/.vscode": false,
	} {
		if slices.Contains(got, filepath.Join(root, filepath.FromSlash(name))) != want {
			t.Errorf("%s: want %v in\n%q", name, want, got)
		}
	}
}

// A root in the home folder holds what the home folder does.
func TestGuardedInHome(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	root := filepath.Join(home, ".config")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := guardedIn(root); !slices.Contains(got, filepath.Join(root, "git")) || slices.Contains(got, filepath.Join(home, ".bashrc")) || slices.Contains(got, root) {
		t.Errorf("guarded in %s: %q", root, got)
	}
}

func guardedIn(dir string) []string {
	files, _ := guardedBelow([]string{dir})
	return files
}

// Where there is too much to be looked at, what is near the top is found, and it is
// said that the rest was not.
func TestGuardedBounds(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "/nonexistent")
	for _, name := range []string{"a/many", "z/.vscode", "a/many/deep/.vscode"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	one := filepath.Join(root, "a/one")
	if err := os.WriteFile(one, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range guardEntries { // links are made faster than files
		if err := os.Link(one, filepath.Join(root, "a/many", strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	got, unsearched := guardedBelow([]string{root})
	if !slices.Contains(got, filepath.Join(root, "z/.vscode")) || !slices.Equal(unsearched, []string{root}) {
		t.Errorf("found %q, not searched %q", got, unsearched)
	}
	if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	for i := range guardFiles + 1 {
		if err := os.MkdirAll(filepath.Join(root, strconv.Itoa(i), ".idea"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, unsearched := guardedBelow([]string{root}); len(got) < guardFiles || len(got) > guardFiles+len(guarded.Paths(guarded.Folder))+10 || len(unsearched) != 1 {
		t.Errorf("found %d, not searched %q", len(got), unsearched)
	}
}
