package cmdline

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
)

// A repository may say in many ways where its settings are. None of them makes a
// command that runs its programs count as one that only reads.
func TestGitSettingsElsewhere(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	type files map[string]string
	const plain = "[core]\n\trepositoryformatversion = 0\n"
	for name, c := range map[string]struct {
		files files
		repos []string // folders that git takes for repositories, with plain settings
		evil  string   // the folder whose settings name a program; "" for none
		links map[string]string
		dir   string // where git is started
		reads bool
	}{
		"common folder of a folder":    {files: files{".git/commondir": "c\n"}, repos: []string{".git"}, evil: ".git/c"},
		"common folder, no line end":   {files: files{".git/commondir": "../c"}, repos: []string{".git", "c"}, evil: "c"},
		"common folder behind a link":  {files: files{".git/commondir": "l/../c\n"}, repos: []string{".git", ".git/c"}, links: map[string]string{".git/l": "../x/y"}, evil: "x/c"},
		"common folder like the home":  {files: files{".git/commondir": "~\n"}, repos: []string{".git"}, evil: ".git/~"},
		"common folder with a space":   {files: files{".git/commondir": "../c \n"}, repos: []string{".git", "c"}, evil: "c "},
		"file with a space":            {files: files{".git": "gitdir: g/e \n"}, repos: []string{"g/e"}, evil: "g/e "},
		"file with a tab":              {files: files{".git": "gitdir: g/e\t"}, repos: []string{"g/e"}, evil: "g/e\t"},
		"file with a space in front":   {files: files{".git": "gitdir:  g/e"}, repos: []string{"g/e"}, evil: " g/e"},
		"file with two lines":          {files: files{".git": "gitdir: g/e\nx\n"}, repos: []string{"g/e"}, evil: "g/e\nx"},
		"file, then a common folder":   {files: files{".git": "gitdir: g/e\n", "g/e/commondir": "../c \n"}, repos: []string{"g/e", "g/c"}, evil: "g/c "},
		"link to a folder, then a way": {files: files{"x/g/commondir": "../c\n"}, repos: []string{"x/g"}, links: map[string]string{".git": "x/g"}, evil: "x/c"},
		"folder that is none":          {files: files{"sub/.git/config": plain}, evil: ".git", dir: "sub"},
		"link that leads nowhere":      {files: files{"sub/a": ""}, links: map[string]string{"sub/.git": "gone"}, evil: ".git", dir: "sub"},

		"file that leads to a repository": {files: files{".git": "gitdir: g/e\r\n\n"}, repos: []string{"g/e"}, reads: true},
		"folder below a repository":       {files: files{"sub/.git/config": plain}, repos: []string{".git"}, dir: "sub", reads: true},
		"linked work tree":                {files: files{".git": "gitdir: g/worktrees/w\n", "g/worktrees/w/commondir": "../..\n"}, repos: []string{"g", "g/worktrees/w"}, reads: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			put := func(name, text string) {
				name = filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			repo := func(at, config string) {
				put(at+"/HEAD", "ref: refs/heads/x\n")
				put(at+"/objects/a", "")
				put(at+"/refs/a", "")
				put(at+"/config", config)
			}
			for _, at := range c.repos {
				repo(at, plain)
			}
			ran := filepath.Join(dir, "ran")
			if c.evil != "" {
				repo(c.evil, plain+"\tfsmonitor = \"touch "+ran+"; false\"\n")
			}
			for name, text := range c.files {
				put(name, text)
			}
			if _, ok := c.links[".git/l"]; ok {
				put("x/y/a", "")
			}
			for name, to := range c.links {
				if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
					t.Skip("no symbolic links here: ", err)
				}
			}
			s := NewLine(paths.NewContext(filepath.Join(dir, c.dir), []string{dir}), "git status")
			if why := s.WhyNotRead(false); (why == "") != c.reads {
				t.Errorf("git status reads only: %v, want %v: %s", why == "", c.reads, why)
			}
			cmd := exec.Command("git", "status")
			cmd.Dir = filepath.Join(dir, c.dir)
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
			out, err := cmd.CombinedOutput()
			if paths.Exists(ran) == c.reads {
				t.Errorf("git ran the program: %v; %v %s", paths.Exists(ran), err, out)
			}
		})
	}
}
