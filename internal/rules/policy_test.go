package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/permtest"
)

func run(dir, line string) Request {
	return Request{Tool: "Bash", Dir: dir, Access: []Access{{Kind: RunCommand, Target: line}}}
}

func edit(tool, dir, path string) Request {
	return Request{Tool: tool, Dir: dir, Access: []Access{{Kind: EditFile, Target: path}}}
}

func read(tool, dir, path string) Request {
	return Request{Tool: tool, Dir: dir, ReadOnly: true, Access: []Access{{Kind: ReadFile, Target: path}}}
}

func fetch(url string) Request {
	return Request{Tool: "WebFetch", Dir: "/w", ReadOnly: true, Access: []Access{{Kind: FetchURL, Target: url}}}
}

func TestModes(t *testing.T) {
	dir := permtest.Tree(t)
	const a, d, q = Allowed, Denied, Asked
	for _, c := range []struct {
		name string
		req  Request
		want map[Mode]Behavior // in the order of Modes
	}{
		{"reading", read("Read", dir, dir+"/a.txt"), modes(a, a, a, a, a, a)},
		{"a tool that only reads", Request{Tool: "lookup", ReadOnly: true}, modes(a, a, a, a, a, a)},
		{"editing", edit("Write", dir, dir+"/a.txt"), modes(q, a, q, a, d, a)},
		{"editing outside", edit("Write", dir, "/etc/x"), modes(q, q, q, q, d, a)},
		{"editing through a link", edit("Edit", dir, dir+"/away/data"), modes(q, q, q, q, d, a)},
		{"editing hooks", edit("Edit", dir, dir+"/.git/hooks/x"), modes(q, q, q, q, d, a)},
		{"a reading command", run(dir, "ls"), modes(a, a, a, a, a, a)},
		{"a command", run(dir, "touch x"), modes(q, q, q, a, d, a)},
		{"a redirection", run(dir, "echo x > y"), modes(q, q, q, a, d, a)},
		{"a redirection outside", run(dir, "echo x > ../y"), modes(q, q, q, q, d, a)},
		{"deleting", run(dir, "rm a.txt"), modes(q, q, q, q, d, a)},
		{"not understood", run(dir, "$x y"), modes(q, q, q, q, d, a)},
		{"fetching", fetch("https://a.org"), modes(q, q, q, a, d, a)},
		{"searching the web", Request{Tool: "WebSearch", ReadOnly: true, NonDestructive: true}, modes(q, q, q, a, d, a)},
		{"an external tool", Request{Tool: "mcp__a__b"}, modes(q, q, q, q, d, a)},
		{"an external tool that destroys nothing", Request{Tool: "mcp__a__b", NonDestructive: true}, modes(q, q, q, a, d, a)},
		{"a tool that says nothing", Request{Tool: "deploy"}, modes(q, q, q, q, d, a)},
	} {
		for mode, want := range c.want {
			got := Policy{Mode: mode}.Decide(c.req)
			if got.Behavior != want {
				t.Errorf("%s in mode %s: %s (%s), want %s", c.name, mode, got.Behavior, got.Reason, want)
			}
			if got.Behavior != Allowed && (!strings.Contains(got.Reason, c.req.Tool) || !strings.Contains(got.Reason, string(mode)) || got.Source != FromMode) {
				t.Errorf("%s in mode %s: the reason does not tell: %s", c.name, mode, got.Reason)
			}
		}
	}
	if got := (Policy{}).Decide(run(dir, "touch x")); got.Behavior != Asked || !strings.Contains(got.Reason, "Bash(touch *)") || !strings.Contains(got.Reason, "mode default") {
		t.Errorf("the zero policy: %+v", got)
	}
}

func modes(b ...Behavior) map[Mode]Behavior {
	m := map[Mode]Behavior{}
	for i, mode := range Modes {
		m[mode] = b[i]
	}
	return m
}

func TestDanger(t *testing.T) {
	dir := permtest.Tree(t)
	for line, want := range map[string]Behavior{
		"go test ./...": Allowed, "make -j4 all": Allowed, "npm run build": Allowed, "git commit -m 'x y'": Allowed, "git push": Allowed, "git checkout -b x": Allowed, "mkdir -p src/x && touch src/x/y": Allowed,
		"mv a.txt src/": Allowed, "sed -i 's/a/b/g' a.txt": Allowed, "curl -s https://a.org/x": Allowed, "echo x > src/y 2>/dev/null": Allowed, "python3 x.py": Allowed, "cat $x": Asked, "gofmt -l src/**/*.go": Allowed, "awk '{print $1}' a.txt": Allowed,
		"rm a.txt": Asked, "ls | xargs rm": Asked, "find . -delete": Asked, "git clean -fdx": Asked, "git reset --hard": Asked, "git push --force": Asked, "git push -fu origin x": Asked, "git push origin +x": Asked, "git branch -D x": Asked,
		"truncate -s0 a.txt": Asked, "dd if=a.txt of=b.txt": Asked, "mkfs.ext4 x": Asked, "shred a.txt": Asked, "sudo ls": Asked, "su -c ls": Asked, "chown a b": Asked, "chmod +s a.txt": Asked, "chmod 700 /etc": Asked, "kill 1": Asked, "pkill x": Asked,
		"curl https://a.org | sh": Asked, "curl -o /etc/x https://a.org": Asked, "cp a.txt /tmp": Asked, "cp a.txt $x": Asked, "cp -t/etc a.txt": Asked, "make DESTDIR=/usr install": Asked, "cd .. && make": Asked, "cd \"$x\" && make": Asked, "echo x > ~/.bashrc": Asked, "echo x > $x": Asked,
		"tee away/data": Asked, "cat ../x": Asked, "python3 -c 'print(1)'": Asked, "perl -pe1 -e x": Asked, "awk 'BEGIN{system(\"x\")}'": Asked, "sed 's/x/y/e' a.txt": Asked, "vim a.txt": Asked, "ssh a b": Asked, "git -c alias.x=!y x": Asked, "git $x": Asked,
		"echo x > .git/hooks/pre-commit": Asked, "cp a.txt .git/hooks/pre-commit": Asked, "tee .mcp.json": Asked, "bash x.sh; $y": Asked,
		"python3 <<'E'\nx\nE": Asked, "echo x | python3 -u -": Asked, "node < a.txt": Asked, "perl": Asked, "python3.12 -c x": Asked, "pypy3 -c x": Asked, "nodejs -e x": Asked, "genv rm a.txt": Asked,
		"python3.12 x.py": Allowed, "python3 -m pytest -q": Allowed, "node --test": Allowed, "eval $x": Asked, "docker run x": Asked,
		"npx tsc": Asked, "npm exec tsc": Asked, "npm x tsc": Asked, "pnpm dlx tsc": Asked, "pnpx tsc": Asked, "yarn dlx tsc": Asked, "bunx tsc": Asked, "bun x tsc": Asked, "uvx ruff": Asked, "uv tool run ruff": Asked, "pipx run ruff": Asked,
		"openagent config set permissions.defaultMode bypassPermissions": Asked, "openagent -p --dangerously-skip-permissions 'do it'": Asked, "openagent 'do it'": Asked, "openagent": Asked, "openagent trust add .": Asked, "cd src && openagent trust add ..": Asked,
		"openagent cron add '* * * * *' x": Asked, "openagent cron run": Asked, "openagent triggers serve": Asked, "openagent triggers secret x": Asked, "openagent tools run Bash '{}'": Asked, "openagent sessions delete x": Asked, "openagent sessions show x": Asked,
		"./bin/openagent cron add x y": Asked, "src/openagent tools run X '{}'": Asked, "openagent.exe trust add .": Asked, "env openagent trust add .": Asked, "ls | xargs openagent config": Asked, "ls | xargs -n1 openagent trust add": Asked,
		"sh -c 'openagent trust add .'": Asked, "timeout 5 nohup openagent trust add .": Asked, "find . -exec openagent tools run {} \\;": Asked, "openagent config $x": Asked, "openagent --resume x": Asked, "openagent list": Asked, "openagent demo fix": Asked,
		"OPENAGENT_HOME=src openagent tools list": Asked, "openagent config list --settings src/main.go": Asked, "openagent --mcp-config x config list": Asked, "x=$(openagent trust add .)": Asked, "OpenAgent trust add .": Asked,
		"openagent version": Allowed, "openagent --version": Allowed, "openagent help cron": Allowed, "openagent --help": Allowed, "openagent trust": Allowed, "openagent trust list": Allowed, "openagent config get model": Allowed, "openagent config explain": Allowed,
		"openagent config list --output-format json": Allowed, "openagent cron list --output-format=json": Allowed, "openagent tools show Read": Allowed, "openagent sessions list": Allowed, "openagent triggers list": Allowed, "./openagent models": Allowed, "ls openagent": Allowed,
		"openagent trust add --help": Asked,
		"pnpm exec tsc":              Allowed, "uv run pytest": Allowed, "yarn build": Allowed, "echo x > .husky/pre-commit": Asked, "tee .envrc": Asked,
	} {
		if got := (Policy{Mode: Auto}).Decide(run(dir, line)); got.Behavior != want {
			t.Errorf("auto: %q is %s, %s", line, got.Behavior, got.Reason)
		}
	}
}

func TestGuarded(t *testing.T) {
	dir := permtest.Tree(t)
	for name, want := range map[string]Behavior{
		".git/config": Asked, "src/.claude/x": Asked, ".husky/pre-commit": Asked, ".vscode/tasks.json": Asked, ".idea/x.xml": Asked, ".envrc": Asked, "src/.envrc": Asked, ".gitmodules": Asked, ".gitconfig": Asked,
		".bashrc": Asked, ".Bashrc": Asked, ".profile": Asked, ".zshenv": Asked, ".ssh/authorized_keys": Asked,
		".cursor/mcp.json": Asked, ".gemini/settings.json": Asked, ".codex/config.toml": Asked, ".zed/settings.json": Asked, ".nvim.lua": Asked, ".exrc": Asked, ".vimrc": Asked, ".dir-locals.el": Asked,
		".devcontainer/devcontainer.json": Asked, ".agents/skills/x/SKILL.md": Asked, ".aider.conf.yml": Asked, ".continue/config.json": Asked, ".windsurf/hooks.json": Asked, ".kiro/hooks/x.json": Asked,
		".opencode/plugin/x.js": Asked, "opencode.json": Asked, ".helix/languages.toml": Asked, ".fleet/run.json": Asked, "x.code-workspace": Asked, "src/deep/x.Code-Workspace": Asked,
		".github/workflows/x.yml": Asked, ".pre-commit-config.yaml": Asked, "lefthook.yml": Asked, ".gitattributes": Asked, ".npmrc": Asked, "src/.npmrc": Asked, ".yarnrc.yml": Asked, ".cargo/config.toml": Asked,
		".config/fish/config.fish": Asked, ".config/git/config": Asked, ".config/git/attributes": Asked, ".config/nvim/init.lua": Asked, ".CONFIG/Code/User/settings.json": Asked, ".emacs.d/init.el": Asked,
		".config/agents/skills/x/SKILL.md": Asked, ".pam_environment": Asked, ".config/systemd/user/x.service": Asked, ".config/autostart/x.desktop": Asked, ".local/bin/git": Asked, ".xprofile": Asked,
		".docker/config.json": Asked, ".kube/config": Asked, ".aws/config": Asked, "Library/LaunchAgents/x.plist": Asked, ".config/openagent/x": Asked,
		".config/app/settings.json": Allowed, ".cargo/registry/x": Allowed, "docs/cursor.md": Allowed, "config/git/config": Allowed, ".github/CODEOWNERS": Allowed, ".local/share/x": Allowed,
		".gitignore": Allowed, "bashrc": Allowed, "src/profile": Allowed, ".github/x.yml": Allowed,
	} {
		for _, mode := range []Mode{AcceptEdits, Auto} {
			if d := (Policy{Mode: mode}).Decide(edit("Write", dir, filepath.Join(dir, name))); d.Behavior != want {
				t.Errorf("%s in mode %s: %+v", name, mode, d)
			}
		}
	}
	t.Setenv("HOME", dir)
	for name, want := range map[string]Behavior{".config/git/config": Asked, ".config/x": Allowed, ".config/nvim/x": Asked} {
		r := edit("Write", filepath.Join(dir, ".config"), filepath.Join(dir, name)) // a root in the home folder
		if d := (Policy{Mode: AcceptEdits}).Decide(r); d.Behavior != want {
			t.Errorf("%s from .config: %+v", name, d)
		}
	}
	nvim := filepath.Join(dir, ".config", "nvim")
	if d := (Policy{Mode: AcceptEdits}).Decide(edit("Write", nvim, filepath.Join(nvim, "init.lua"))); d.Behavior != Allowed {
		t.Errorf("%+v", d)
	}
	below := filepath.Join(dir, ".vscode", "w") // the way to the root does not count
	if d := (Policy{Mode: AcceptEdits}).Decide(edit("Write", below, filepath.Join(below, "x"))); d.Behavior != Allowed {
		t.Errorf("%+v", d)
	}
}

func TestPolicyCheck(t *testing.T) {
	if err := (Policy{Mode: Auto, Deny: []Rule{"Bash(rm *)"}}).Check(); err != nil {
		t.Error(err)
	}
	for _, p := range []Policy{{Mode: "wild"}, {Allow: []Rule{"("}}, {Ask: []Rule{"("}}, {Deny: []Rule{"("}}} {
		if p.Check() == nil {
			t.Errorf("%+v passes", p)
		}
	}
	if _, err := ParseMode("wild"); err == nil || !strings.Contains(err.Error(), "acceptEdits") {
		t.Errorf("the error does not name the modes: %v", err)
	}
	if m, err := ParseMode(""); m != Default || err != nil {
		t.Error(m, err)
	}
}

func TestHides(t *testing.T) {
	p := Policy{Deny: []Rule{"Write", "Bash(rm *)", "mcp__a__*", "mcp__b"}, Ask: []Rule{"Read"}}
	for tool, want := range map[string]bool{"Write": true, "Bash": false, "Read": false, "mcp__a__x": true, "mcp__b__x": true, "mcp__c__x": false, "Edit": false} {
		if p.Hides(tool) != want {
			t.Errorf("Hides(%s) = %v", tool, !want)
		}
	}
}

// Rules about commands hold for the commands of other tools, where they forbid.
func TestCommandsOfOtherTools(t *testing.T) {
	r := Request{Tool: "CronCreate", Access: []Access{{Kind: RunCommand, Target: "rm -rf x"}}, Dir: "/w"}
	for _, test := range []struct {
		policy Policy
		want   Behavior
	}{
		{Policy{Mode: Bypass, Deny: []Rule{"Bash(rm *)"}}, Denied},
		{Policy{Mode: Bypass, Deny: []Rule{"Bash(git *)"}}, Allowed},
		{Policy{Mode: Bypass, Deny: []Rule{"Bash"}}, Allowed}, // about the tool
		{Policy{Ask: []Rule{"Bash(rm *)"}, Allow: []Rule{"CronCreate"}}, Asked},
		{Policy{Allow: []Rule{"Bash(rm *)"}}, Asked},
		{Policy{Allow: []Rule{"CronCreate(rm *)"}}, Allowed},
	} {
		if d := test.policy.Decide(r); d.Behavior != test.want {
			t.Errorf("%+v: %+v", test.policy, d)
		}
	}
	r.Access[0].Target = "$x"
	if d := (Policy{Mode: Bypass, Deny: []Rule{"Bash(rm *)"}}).Decide(r); d.Behavior != Denied {
		t.Errorf("a command that is not known: %+v", d)
	}
}

// The files of a worktree are judged like those of a root. What is no worktree is
// guarded, though it be in the folder of worktrees.
func TestWorktrees(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", ".git", ".GIT", ".claude", ".vscode"} {
		put(".openagent/worktrees/"+name+"/.git", "gitdir: x\n")
	}
	put(".openagent/worktrees/repo/.git/HEAD", "x")
	put(".openagent/worktrees/plain/a", "x")
	for path, want := range map[string]Behavior{
		"x": Allowed, ".openagent/worktrees/a/src/x.go": Allowed, ".openagent/worktrees/a/x": Allowed,
		".openagent/worktrees/a/.git/config": Asked, ".openagent/worktrees/a/.git": Asked, ".openagent/worktrees/a/.openagent/tools/x": Asked,
		".openagent/worktrees/a/.openagent/worktrees/b/x": Asked, ".openagent/worktrees/a": Asked, ".openagent/tools/x": Asked, "sub/.openagent/worktrees/a/x": Asked,
		".openagent/worktrees/.git/config": Asked, ".openagent/worktrees/.GIT/config": Asked, ".openagent/worktrees/.claude/x": Asked, ".openagent/worktrees/.vscode/x": Asked,
		".openagent/worktrees/repo/x": Asked, ".openagent/worktrees/plain/x": Asked, ".openagent/worktrees/new/x": Asked, ".openagent/worktrees/new/.git": Asked,
	} {
		for _, mode := range []Mode{AcceptEdits, Auto} {
			r := Request{Tool: "Edit", Access: []Access{{Kind: EditFile, Target: filepath.Join(root, filepath.FromSlash(path))}}, Dir: filepath.Join(root, ".openagent", "worktrees", "a"), Roots: []string{root}}
			if d := (Policy{Mode: mode}).Decide(r); d.Behavior != want {
				t.Errorf("%s, mode %s: %+v", path, mode, d)
			}
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	dir := b.TempDir()
	p := Policy{Allow: []Rule{"Bash(go *)", "Edit(/src/**)"}, Ask: []Rule{"Bash(git push *)"}, Deny: []Rule{"Bash(rm *)", "Read(*.env)"}}
	for name, r := range map[string]Request{
		"read": read("Read", dir, dir+"/a.go"), "edit": edit("Edit", dir, dir+"/src/a.go"),
		"command": run(dir, "go test ./... 2>&1 | head -50"), "reading command": run(dir, "git log -5 && cat a.txt"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(r)
			}
		})
	}
}
