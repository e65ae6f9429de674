package permission

import (
	"slices"
	"strings"
)

// What the mode Auto leaves to a person.

// dangerous names programs that delete, take other rights, end or change what is
// not theirs, or carry work to other machines, with the word for it.
var dangerous = map[string]string{}

// dangerousUses names uses of a program: words that all have to be among the
// arguments. A flag of one letter may be part of a cluster.
var dangerousUses = map[string][][]string{}

func init() {
	for what, names := range map[string]string{
		"deletes":                      "rm rmdir unlink shred truncate dd wipefs fdisk parted sgdisk dropdb wipe srm",
		"acts with other rights":       "sudo doas su pkexec runuser chroot chown chgrp chattr setfacl chflags visudo passwd useradd userdel usermod groupadd mount umount insmod rmmod modprobe sysctl iptables nft ufw systemctl service launchctl",
		"ends processes":               "kill pkill killall skill shutdown reboot halt poweroff init telinit",
		"reaches other machines":       "ssh scp sftp nc ncat netcat socat telnet ftp rsync",
		"runs what it fetches":         "npx pnpx bunx uvx",
		"runs what is typed or quoted": "vi vim nvim ex ed emacs nano less more osascript expect",
	} {
		for n := range strings.FieldsSeq(names) {
			dangerous[n] = what
		}
	}
	for line := range strings.Lines(strings.TrimSpace(`
git clean
git reset --hard
git reset --merge
git push --force
git push -f
git push --force-with-lease
git push --force-if-includes
git push --mirror
git push --delete
git push -d
git push --prune
git checkout -f
git checkout --force
git checkout --
git checkout .
git switch -f
git switch --force
git switch --discard-changes
git restore
git rm
git branch -D
git branch -d
git branch --delete
git tag -d
git tag --delete
git stash drop
git stash clear
git reflog expire
git reflog delete
git gc
git prune
git update-ref
git filter-branch
git filter-repo
git worktree remove
git worktree prune
git remote remove
git remote rm
git config
git submodule foreach
git submodule deinit
git rebase -x
git rebase --exec
git bisect run
git difftool
git mergetool
git daemon
git -c
git --config-env
git --exec-path
find -delete
find -fprint
find -fprint0
find -fprintf
find -fls
docker rm
docker rmi
docker kill
docker run
docker exec
docker prune
docker system
docker volume
podman run
podman exec
podman rm
podman prune
kubectl delete
kubectl exec
kubectl apply
kubectl drain
terraform destroy
terraform apply
gh repo
gh api
npm publish
npm unpublish
npm exec
npm x
pnpm dlx
yarn dlx
bun x
pipx run
uv tool run
cargo publish
pip uninstall
brew uninstall
apt remove
apt purge
apt-get remove
apt-get purge
python -c
pypy -c
perl -e
perl -E
ruby -e
node -e
node -p
node --eval
node --print
nodejs -e
nodejs -p
nodejs --eval
nodejs --print
php -r
lua -e
deno eval
bun -e
awk -f
tar --remove-files
zip -m
zip -T
mv -f
chmod +s
chmod u+s
chmod g+s
make --eval
`)) {
		f := strings.Fields(line)
		dangerousUses[f[0]] = append(dangerousUses[f[0]], f[1:])
	}
}

var interpreters = strings.Fields("python pypy perl ruby node nodejs php lua luajit deno bun tclsh Rscript")

// interpreter returns the name of an interpreter without its version, "" if the
// program is none.
func interpreter(name string) string {
	name = strings.TrimRight(name, "0123456789.")
	if slices.Contains(interpreters, name) {
		return name
	}
	return ""
}

// fromInput reports whether an interpreter reads its program from its input: it
// is given none, and no flag that makes do without.
func (c *Command) fromInput() bool {
	return !slices.ContainsFunc(c.Args, func(a string) bool {
		return !strings.HasPrefix(a, "-") || len(a) > 2 && strings.HasPrefix(a, "--") || slices.Contains([]string{"-V", "-v", "-h", "-c", "-e"}, a)
	})
}

// writers are programs whose arguments name files that they change.
var writers = strings.Fields("cp mv tee install ln touch mkdir chmod sed split csplit tar unzip gunzip gzip patch")

// danger says what makes the line dangerous, "" if nothing is known to.
func (s *site) danger() string {
	if s.Unclear != "" {
		return notUnderstood + s.Unclear
	}
	for _, r := range s.Redirects {
		if !s.within(r.in, r.word) {
			return show(r.Path) + " is not known to be in the working folders"
		}
		if r.Write && s.guardedWord(r.in, r.word) {
			return show(r.Path) + " decides what runs later"
		}
	}
	for i := range s.List {
		if why := s.commandDanger(&s.List[i]); why != "" {
			return why
		}
	}
	return ""
}

func (s *site) commandDanger(c *Command) string {
	if what, ok := dangerous[c.Name]; ok {
		return show(c.Name) + " " + what
	}
	if strings.HasPrefix(c.Name, "mkfs") || strings.HasPrefix(c.Name, "newfs") {
		return show(c.Name) + " deletes"
	}
	language := interpreter(c.Name)
	if language != "" && c.fromInput() {
		return "what " + show(c.Name) + " runs comes from its input"
	}
	for _, use := range slices.Concat(dangerousUses[c.Name], dangerousUses[language]) {
		if !slices.ContainsFunc(use, func(u string) bool { return !c.has(u) }) {
			return "of " + strings.Join(append([]string{c.Name}, use...), " ")
		}
	}
	if c.isOurs() && !c.lists() {
		return show(c.Name) + " may change what is permitted, or run with other permissions"
	}
	if programs(c) {
		return "the program given to " + c.Name + " may run or write anything"
	}
	if c.Name == "git" && (len(c.words) > 0 && c.words[0].unknown() || c.has("push") && slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "+") || strings.HasPrefix(a, ":") })) {
		return show(c.text()) + " may delete"
	}
	if _, ok := s.dirs(c.in); !ok {
		return show(c.Name) + " runs in a folder that is not known"
	}
	writes := s.commandReads(c, false) != ""
	for _, w := range c.words {
		if why := s.argumentDanger(c, w, writes); why != "" {
			return why
		}
	}
	return ""
}

func (s *site) argumentDanger(c *Command, w word, writes bool) string {
	if writes && w.unknown() && slices.Contains(writers, c.Name) && !w.home {
		return "what " + c.Name + " changes is only known when it runs"
	}
	for _, v := range pathForms(w) {
		if strings.Contains(v.text, "://") || v.text == "-" || slices.Contains(streams, v.text) {
			continue
		}
		files, known := s.files(c.in, v)
		leaves := slices.ContainsFunc(files, func(f string) bool { return !s.inside(f) })
		if !known { // what is relative is taken to stay in the folder
			leaves = v.home || strings.HasPrefix(v.text, "/") || strings.HasPrefix(v.text, "~") || strings.Contains(v.text, "..")
		}
		if leaves {
			return show(v.text) + " is not known to be in the working folders"
		}
		if writes && s.guardedWord(c.in, v) {
			return show(v.text) + " decides what runs later"
		}
	}
	return ""
}

// guardedWord reports whether a word names a file that decides what runs later.
func (s *site) guardedWord(in []place, w word) bool {
	files, ok := s.files(in, w)
	return ok && slices.ContainsFunc(files, s.guards)
}

// ourLists are the uses of the command openagent that show what there is, by its
// first argument. A use without a second argument shows a list as well.
var ourLists = map[string][]string{
	"cron": {"list", "next"}, "tools": {"list", "show", "stats"}, "trust": {"list"}, "config": {"list", "get", "explain", "path"},
	"sessions": {"list"}, "triggers": {"list"},
}

// isOurs reports whether the command is openagent, by which permissions can be
// given and used that the call at hand does not have.
func (c *Command) isOurs() bool {
	return strings.TrimSuffix(strings.ToLower(c.Name), ".exe") == "openagent"
}

// lists reports whether the command openagent only shows what there is, with the
// home folder and the settings that it has anyway.
func (c *Command) lists() bool {
	if len(c.Env) > 0 || c.outer > 0 || len(c.Args) == 0 || slices.ContainsFunc(c.words, word.hidden) {
		return false
	}
	var args []string
	for i := 0; i < len(c.Args); i++ {
		switch a := c.Args[i]; {
		case i > 0 && a == "--output-format":
			i++
		case i > 0 && strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--output-format="):
			return false
		default:
			args = append(args, a)
		}
	}
	switch args[0] {
	case "version", "--version", "--help", "-h", "models":
		return len(args) == 1
	case "help":
		return true
	}
	verbs, known := ourLists[args[0]]
	return known && (len(args) == 1 || slices.Contains(verbs, args[1]))
}

// has reports whether an argument is in the command; a flag of one letter may be
// in a cluster, and a long flag may have a value.
func (c *Command) has(arg string) bool {
	return slices.ContainsFunc(c.Args, func(a string) bool {
		switch {
		case a == arg || strings.HasPrefix(arg, "--") && strings.HasPrefix(a, arg+"="):
			return true
		case len(arg) == 2 && arg[0] == '-' && arg[1] != '-' && len(a) > 1 && a[0] == '-' && a[1] != '-':
			return strings.Contains(a[1:], arg[1:])
		}
		return false
	})
}

// programs reports whether the command interprets a program in its arguments
// that may do more than transform text.
func programs(c *Command) bool {
	switch c.Name {
	case "awk", "gawk", "mawk", "nawk":
		return slices.ContainsFunc(c.Args, func(a string) bool {
			return strings.Contains(a, "system") || strings.ContainsAny(a, "|>@"+Unknown) || strings.Contains(a, "getline")
		})
	case "sed", "gsed":
		for _, a := range c.Args {
			if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--expression") {
				continue
			}
			if !plainScript(a) {
				return true
			}
			if !c.has("-e") {
				return false // the first is the script, the rest are files
			}
		}
	}
	return false
}

// plainScript accepts a sed script that substitutes, prints or deletes lines.
func plainScript(script string) bool {
	if strings.Contains(script, "\n") || strings.Contains(script, Unknown) {
		return false
	}
	body := strings.TrimLeft(script, "0123456789,$! ")
	if body == "p" || body == "d" || body == "" {
		return true
	}
	if len(body) < 4 || body[0] != 's' {
		return false
	}
	parts := strings.Split(strings.ReplaceAll(body[2:], `\`+body[1:2], ""), body[1:2])
	return len(parts) == 3 && strings.Trim(parts[2], "gIip0123456789") == ""
}
