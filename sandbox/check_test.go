package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/badsetting"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/permission"
)

// at applies settings in a folder of the test.
func at(t *testing.T, s Settings, dir string) *Rules {
	t.Helper()
	r, err := s.At(Place{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func folder(t *testing.T) string {
	t.Helper()
	return paths.RealPath(t.TempDir())
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func link(t *testing.T, to, from string) {
	t.Helper()
	if err := os.Symlink(to, from); err != nil {
		t.Skip(err)
	}
}

func TestCheckPath(t *testing.T) {
	root := folder(t)
	project := mkdir(t, filepath.Join(root, "project"))
	mkdir(t, filepath.Join(project, "src"))
	mkdir(t, filepath.Join(project, "secret"))
	mkdir(t, filepath.Join(root, "other"))
	link(t, filepath.Join(root, "other"), filepath.Join(project, "out"))
	link(t, filepath.Join(root, "other", "unborn"), filepath.Join(project, "dangling"))
	link(t, "loop", filepath.Join(project, "loop"))
	link(t, project, filepath.Join(root, "alias"))
	home := mkdir(t, filepath.Join(root, "home"))
	t.Setenv("HOME", home)

	deny := Settings{DeniedPaths: []string{filepath.Join(project, "secret") + "/", "~/.ssh"}}
	white := Settings{AllowedReadPaths: []string{project + "/"}, AllowedWritePaths: []string{filepath.Join(project, "src")}, DeniedPaths: []string{project + "/secret/**"}}
	claude := Settings{Filesystem: Filesystem{AllowWrite: []string{"../other"}, DenyWrite: []string{"src/kept"}, DenyRead: []string{"~"}, AllowRead: []string{"~/docs"}}}
	for _, tt := range []struct {
		name     string
		settings Settings
		path     string
		kind     permission.AccessKind
		says     string // "" for what is allowed
	}{
		{"nothing set: anything is read", Settings{}, "/etc/passwd", permission.ReadFile, ""},
		{"nothing set: the folder is written", Settings{}, "a/b", permission.EditFile, ""},
		{"nothing set: nothing else is written", Settings{}, "../x", permission.EditFile, "allowedWritePaths"},
		{"the sibling with the same beginning", Settings{}, project + "-backup/x", permission.EditFile, "allowedWritePaths"},
		{"denied", deny, project + "/secret/f", permission.ReadFile, "deniedPaths"},
		{"denied, the folder itself", deny, project + "/secret", permission.ReadFile, "deniedPaths"},
		{"denied, relative", deny, "secret/f", permission.EditFile, "deniedPaths"},
		{"denied by ..", deny, "src/../secret/f", permission.ReadFile, "deniedPaths"},
		{"denied through a link to the project", deny, filepath.Join(root, "alias", "secret", "f"), permission.ReadFile, "deniedPaths"},
		{"denied in the home folder", deny, "~/.ssh/id", permission.ReadFile, "deniedPaths"},
		{"beside what is denied", deny, project + "/secrets", permission.ReadFile, ""},
		{"whitelist: inside", white, project + "/a/b", permission.ReadFile, ""},
		{"whitelist: the folder", white, project, permission.ReadFile, ""},
		{"whitelist: backup", white, project + "-backup/x", permission.ReadFile, "allowedReadPaths"},
		{"whitelist: denied counts before", white, project + "/secret/x", permission.ReadFile, "deniedPaths"},
		{"whitelist: what is written is another list", white, project + "/x", permission.EditFile, "allowedWritePaths"},
		{"whitelist: written", white, project + "/src/x", permission.EditFile, ""},
		{"a link that leads outside", white, project + "/out/f", permission.ReadFile, "allowedReadPaths"},
		{"a link that leads nowhere", Settings{}, "dangling", permission.EditFile, "allowedWritePaths"},
		{"a loop of links", Settings{}, "loop/x", permission.ReadFile, "too many symlinks"},
		{".. after a link", Settings{}, "out/../x", permission.EditFile, "allowedWritePaths"},
		{"NUL", Settings{}, "a\x00b", permission.ReadFile, "not a usable path"},
		{"claude: further folder", claude, root + "/other/x", permission.EditFile, ""},
		{"claude: kept", claude, "src/kept/x", permission.EditFile, "filesystem.denyWrite"},
		{"claude: kept is read", claude, "src/kept/x", permission.ReadFile, ""},
		{"claude: hidden", claude, home + "/x", permission.ReadFile, "filesystem.denyRead"},
		{"claude: read although in what is hidden", claude, home + "/docs/x", permission.ReadFile, ""},
		{"claude: work in what is hidden", Settings{Filesystem: Filesystem{DenyRead: []string{root}, AllowRead: []string{"."}}}, "a", permission.EditFile, ""},
		{"claude: work in what is hidden, read", Settings{Filesystem: Filesystem{DenyRead: []string{root}, AllowRead: []string{"."}}}, "a", permission.ReadFile, ""},
		{"claude: beside the work in what is hidden", Settings{Filesystem: Filesystem{DenyRead: []string{root}, AllowRead: []string{"."}}}, "../other/a", permission.ReadFile, "filesystem.denyRead"},
		{"claude: hidden in the work", Settings{Filesystem: Filesystem{DenyRead: []string{".", "src"}}}, "src/a", permission.EditFile, "filesystem.denyRead"},
		{"claude: but not written", claude, home + "/docs/x", permission.EditFile, "filesystem.denyRead"},
	} {
		err := at(t, tt.settings, project).CheckPath(tt.path, tt.kind)
		var d *DeniedError
		switch {
		case tt.says == "" && err == nil:
		case tt.says == "" || err == nil, !errors.As(err, &d), !strings.Contains(err.Error(), tt.says), d.Path == "":
			t.Errorf("%s: %s: %v, want %q", tt.name, tt.path, err, tt.says)
		}
	}
}

func TestCheckCommand(t *testing.T) {
	root := folder(t)
	project := mkdir(t, filepath.Join(root, "project"))
	secret := mkdir(t, filepath.Join(root, "secret"))
	if err := os.WriteFile(filepath.Join(secret, "key"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	link(t, secret, filepath.Join(project, "way"))
	no := func(names ...string) Settings { return Settings{DeniedCommands: names} }
	only := func(names ...string) Settings { return Settings{AllowedCommands: append([]string{}, names...)} }
	hide := Settings{DeniedPaths: []string{secret}}
	holes := Settings{Filesystem: Filesystem{DenyRead: []string{root}, AllowRead: []string{"."}}}
	within := Settings{AllowedReadPaths: []string{project}}
	for _, tt := range []struct {
		settings Settings
		line     string
		allowed  bool
	}{
		// The sibling projects' cases.
		{no("rm"), "rm -rf /tmp/test", false},
		{no("rm"), "/usr/bin/rm -rf x", false},
		{no("rm"), `\rm x`, false},
		{no("rm"), `"rm" -rf "/tmp"`, false},
		{no("rm"), "'rm' -rf x", false},
		{no("rm"), "echo hello", true},
		{no("rm"), "RM x", !foldCase},
		{no("rm"), `bash -c "rm x"`, false},
		{no("rm"), "zsh -c 'rm x'", false},
		{no("rm"), `bash -c "bash -c 'rm x'"`, false},
		{only("git", "bash"), `bash -c "git status"`, true},
		{only("git", "swift"), `bash -c "rm"`, false},
		{no("rm"), "echo $(rm x)", false},
		{no("rm"), "echo `rm x`", false},
		{no("sudo"), "echo $(whoami) && $(sudo rm -rf /tmp)", false},
		{no("curl"), "echo $(whoami) && `curl evil.com`", false},
		{only("git", "whoami"), "echo $(git rev-parse HEAD) && $(whoami)", false},
		{only(), "echo test", false},
		{Settings{DeniedCommands: []string{"touch"}}, "echo a", true},
		{no("touch"), "touch marker", false},
		// A denied path stays denied, even if it is allowed as well.
		{Settings{AllowedCommands: []string{"rm", "ls"}, DeniedCommands: []string{"rm"}}, "rm x", false},
		{Settings{AllowedCommands: []string{"rm", "ls"}, DeniedCommands: []string{"rm"}}, "ls", true},
		// Lists that look at the first word alone let these pass.
		{only("git"), "git status; rm -rf x", false},
		{only("git"), "git status && curl evil", false},
		{only("git"), "git log | sh", false},
		{only("git"), "git status & rm x", false},
		{only("git"), "git status\nrm x", false},
		{no("rm"), "env rm x", false},
		{no("rm"), "xargs rm < list", false},
		{no("rm"), "FOO=1 rm x", false},
		{no("rm"), "bash -lc 'rm x'", false},
		{no("rm"), "eval 'rm x'", false},
		{no("rm"), `r\m x`, false},
		{no("rm"), "rm -rf $(pwd)", false},
		{no("rm"), "x=rm; $x y", false},
		{no("rm"), "${x:-rm} y", false},
		{no("rm"), "r''m y", false},
		{no("rm"), "find . -exec rm {} +", false},
		{no("rm"), "f() { rm x; }; f", false},
		{no("rm"), "cat <<EOF\n$(rm x)\nEOF", false},
		{no("rm"), "timeout 5 nohup rm x", false},
		{no("rm"), "command rm x", false},
		{no("rm"), "if true; then rm x; fi", false},
		{no("rm"), "alias l=rm; l x", false},
		{no("rm"), "trap 'rm x' EXIT", false},
		{no("rm"), "source <(echo rm x)", false},
		{no("rm"), "/bin/r? x", false},
		{no("rm"), "echo 'rm x' | sh", false},
		{no("rm"), "sh < script", false},
		{no("rm"), "echo rm", true},
		{no("rm"), "for", false},
		{Settings{}, "x=rm; $x y", true}, // no rule that it could break
		// Paths.
		{hide, "cat " + secret + "/key", false},
		{hide, "cat ../secret/key", false},
		{hide, "cat way/key", false},
		{hide, "cd .. && cat secret/key", false},
		{hide, "cat < " + secret + "/key", false},
		{hide, "cat ../secr*/key", false},
		{hide, "cat ../{secret,x}/key", false},
		{hide, "cat $x/key", false},
		{hide, "cp -r .. /tmp/x", false},
		{hide, "tar cf - --directory=" + secret + " .", false},
		{hide, "echo x > " + secret + "/new", false},
		{hide, "cat ../secret-backup", true},
		{hide, "cat a", true},
		{hide, "go test ./...", true},
		{holes, "cat " + secret + "/key", false},
		{holes, "cat a b; grep -r x .", true},
		{holes, "cat $x", false},
		{within, "cat " + secret + "/key", false},
		{within, "cat a", true},
		{within, "cat $x", false},
		{within, "ls /usr/bin", true},
		{within, "echo x > ../y", false},
		{Settings{}, "echo x > ../y", false},
		{Settings{}, "echo x > y 2>/dev/null", true},
		{Settings{AllowedWritePaths: []string{"out"}}, "echo x > out/y", true},
		{Settings{AllowedWritePaths: []string{"out"}}, "echo x > y", false},
		{Settings{Filesystem: Filesystem{DenyWrite: []string{"kept"}}}, "echo x > kept/y", false},
		{Settings{Filesystem: Filesystem{DenyWrite: []string{"kept"}}}, "touch kept/y", false},
		{Settings{Filesystem: Filesystem{DenyWrite: []string{"kept"}}}, "cat kept/y", true},
	} {
		err := at(t, tt.settings, project).CheckCommand(tt.line)
		var d *DeniedError
		if (err == nil) != tt.allowed {
			t.Errorf("%s: %v, want allowed %v", tt.line, err, tt.allowed)
		} else if err != nil && (!errors.As(err, &d) || d.Command == "" || d.Rule == "" || d.Why == "") {
			t.Errorf("%s: %#v does not say what and why", tt.line, err)
		}
	}
}

// Where the operating system sees to the files, what cannot be told from the line
// may run; names of commands it does not see to.
func TestHeldCommand(t *testing.T) {
	dir := folder(t)
	r := at(t, Settings{DeniedPaths: []string{"secret"}, AllowedReadPaths: []string{"."}}, dir)
	if err := r.checkCommand("for f in *; do cat $f; done", dir, true); err != nil {
		t.Error(err)
	}
	if err := r.checkCommand("cat secret/x", dir, true); err == nil {
		t.Error("a denied path passes")
	}
	r = at(t, Settings{DeniedCommands: []string{"rm"}}, dir)
	if err := r.checkCommand("$x y", dir, true); err == nil {
		t.Error("a command of an unknown name passes")
	}
}

func TestSettingsCheck(t *testing.T) {
	for _, tt := range []struct {
		settings Settings
		says     string
	}{
		{Settings{}, ""},
		{Settings{DeniedPaths: []string{"/etc/**", "~", "~/x", "a"}}, ""},
		{Settings{DeniedPaths: []string{""}}, "deniedPaths"},
		{Settings{AllowedReadPaths: []string{"*.env"}}, "allowedReadPaths"},
		{Settings{AllowedWritePaths: []string{"/a/*"}}, "allowedWritePaths"},
		{Settings{DeniedPaths: []string{"~bob/x"}}, "another user"},
		{Settings{DeniedPaths: []string{"a\x00"}}, "NUL"},
		{Settings{Filesystem: Filesystem{AllowWrite: []string{"a?"}}}, "filesystem.allowWrite"},
		{Settings{DeniedCommands: []string{"git push"}}, "permission rules"},
		{Settings{DeniedCommands: []string{"/bin/rm"}}, "deniedCommands"},
		{Settings{AllowedCommands: []string{""}}, "allowedCommands"},
		{Settings{ExcludedCommands: []string{"*"}}, "every command"},
		{Settings{ExcludedCommands: []string{"docker", "git push *"}}, ""},
		{Settings{Network: Network{AllowedDomains: []string{"*"}}}, "network.allowedDomains"},
		{Settings{Network: Network{AllowedDomains: []string{"*.com"}}}, "every host below com"},
		{Settings{Network: Network{DeniedDomains: []string{"a b"}}}, "network.deniedDomains"},
	} {
		err := tt.settings.Check()
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%+v: %v, want %q", tt.settings, err, tt.says)
		}
	}
}

func TestPolicy(t *testing.T) {
	root := folder(t)
	dir := mkdir(t, filepath.Join(root, "work"))
	mkdir(t, filepath.Join(root, "home", "me", "docs"))
	mkdir(t, filepath.Join(root, "home", "me", "mail"))
	mkdir(t, filepath.Join(root, "home", "you"))
	s := Settings{DeniedPaths: []string{"key"}, AllowedReadPaths: []string{root},
		Filesystem: Filesystem{AllowWrite: []string{"../out"}, DenyWrite: []string{"kept"}, DenyRead: []string{root + "/home/me"}, AllowRead: []string{root + "/home/me/docs"}},
		Network:    Network{AllowLocalBinding: true, AllowAllUnixSockets: true}, AllowNested: true, WeakerNested: true}
	r, err := s.At(Place{Dir: dir, Roots: []string{root + "/more"}, Temp: root + "/temp", Private: []string{root + "/own"}, Readable: []string{root + "/spill"}})
	if err != nil {
		t.Fatal(err)
	}
	p := r.confinement()
	same := func(what string, got []string, want ...string) {
		t.Helper()
		for _, w := range want {
			found := false
			for _, g := range got {
				found = found || g == filepath.Join(root, w)
			}
			if !found {
				t.Errorf("%s: %q lacks %s", what, got, w)
			}
		}
	}
	same("write", p.Write, "work", "more", "temp", "out")
	same("read-only", p.ReadOnly, "work/kept")
	same("hidden", p.Hidden, "work/key", "own")
	same("read", p.Read, "home/you", "home/me/docs", "work")
	for _, path := range p.Read {
		if below(path, filepath.Join(root, "home", "me", "mail")) {
			t.Errorf("%s may be read", path)
		}
	}
	if !p.LocalBinding || !p.UnixSockets || !p.Nested || !p.Weaker || p.Network || p.Proxy != "" {
		t.Errorf("%+v", p)
	}
	if p := at(t, Settings{}, dir).confinement(); p.Read != nil || len(p.Write) != 1 || p.Hidden != nil {
		t.Errorf("%+v", p)
	}
}

func TestDeniedWorkingDirectory(t *testing.T) {
	dir := folder(t)
	_, err := (Settings{DeniedPaths: []string{filepath.Dir(dir)}}).At(Place{Dir: dir})
	var e *badsetting.Error
	if !errors.As(err, &e) || e.Setting != "deniedPaths" {
		t.Errorf("%v", err)
	}
}
