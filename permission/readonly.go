package permission

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// A reader says which calls of a program change nothing. What is not listed is
// not known to be harmless; long flags must be written out.
type reader struct {
	bools    string // one-letter flags
	values   string // one-letter flags with a value, in the same word or the next
	files    string // as values, the value being a path
	long     map[string]byte
	operands string // paths, text, none, pattern (text, then paths), version or a way of its own
	most     int    // operands, 0 for any number
	descends bool   // shows files that its arguments do not name
	check    func(args []string) bool
}

// readers is the table of programs that may run without asking. A line is the
// name, the flags (letters with ":" take a value, with "@" a path; long flags
// end in "=" for a value, "?" for one that only "=" can give, "@" for a path)
// and what the other arguments are.
var readers = readTable(`
ls -aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1 -I: --all --almost-all --author --color? --classify? --directory --full-time --group-directories-first --human-readable --inode --no-group --numeric-uid-gid --reverse --recursive --size --sort= --time= --time-style= paths
cat -AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank paths
head -qvz0123456789 -nc: --lines= --bytes= --quiet --verbose paths
tail -fFqvrz0123456789 -ncs: --lines= --bytes= --follow? --quiet --verbose --retry paths
wc -clmwL --bytes --chars --lines --words --max-line-length paths
nl -p -bfhdilnsvw: paths
tac -br -s: paths
rev paths
fold -bs -w: paths
column -txen -sco: paths
paste -sz -d: paths
cut -nsz -bcfd: --delimiter= --fields= --characters= --bytes= --complement --output-delimiter= --only-delimited paths
tr -cCdst text
uniq -cdDiuz0123456789 -fsw: --count --repeated --unique --ignore-case paths 1
sort -bcCdfghiMmnRrsuVz -kt: --key= --field-separator= --numeric-sort --reverse --unique --version-sort --human-numeric-sort --ignore-case --stable --check? paths
comm -123iz paths
cmp -bls paths
diff -aBbcdeiNnpqstTuwy0123456789 -CUIW: --brief --color? --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change --minimal --side-by-side --stat --suppress-common-lines --unified? --report-identical-files --strip-trailing-cr paths
stat -fLtxsrq -c: --format= --printf= --terse --file-system --dereference paths
file -bhiNrs0k --brief --mime --mime-type --mime-encoding --no-dereference paths
du -abchHkmsSx0 -dB: --all --apparent-size --bytes --human-readable --max-depth= --summarize --total --one-file-system paths
df -ahHiklmPT paths
readlink -femnqsvz paths
realpath -emqsz paths
basename -az -s: text
dirname -z text
md5sum -bt paths
sha1sum -bt paths
sha256sum -bt paths
sha512sum -bt paths
shasum -bt -a: paths
cksum paths
od -bcdfhilosxv -AtNjw: paths
hexdump -bcCdovx -ns: paths
strings -af -nte: paths
tree -aACdDfFghiJNnpqrsStuUvxX -LIP: --dirsfirst --noreport --filelimit= --prune paths
grep -abcEFGHhiIlLnoPqrsTUvVwxyzZ0123456789 -ABCDdem: -f@ --after-context= --before-context= --context= --color? --colour? --count --exclude= --exclude-dir= --extended-regexp --files-with-matches --files-without-match --fixed-strings --ignore-case --include= --invert-match --line-number --line-regexp --max-count= --no-filename --no-messages --null --only-matching --perl-regexp --quiet --recursive --regexp= --text --with-filename --word-regexp pattern
rg -.abcFHhIilnNoPpqsSUuvVwx0 -ABCEegGmMrtTjd: -f@ --binary --block-buffered --byte-offset --context-separator= --crlf --encoding= --engine= --glob-case-insensitive --include-zero --line-buffered --max-filesize= --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-parent --no-mmap --no-require-git --no-unicode --null-data --one-file-system --passthru --stop-on-nonmatch --threads= --type-add= --type-clear= --version --after-context= --before-context= --context= --case-sensitive --color= --colors= --column --count --count-matches --files --files-with-matches --files-without-match --fixed-strings --glob= --iglob= --heading --hidden --ignore-case --invert-match --json --line-number --line-regexp --max-columns= --max-count= --max-depth= --multiline --multiline-dotall --no-config --no-filename --no-heading --no-ignore --no-ignore-vcs --no-line-number --no-messages --null --only-matching --pcre2 --pretty --quiet --regexp= --replace= --smart-case --sort= --sortr= --stats --text --trim --type= --type-list --type-not= --unrestricted --vimgrep --with-filename --word-regexp pattern
cd -LPe -- paths 1
pwd -LP none
echo echo
printf echo
true text
false text
: text
test text
[ text
sleep text
seq -w -fs: text
date -uRI --utc --iso-8601? --rfc-3339= --rfc-email --date= text
whoami none
id -GgnruZz text
groups text
uname -amnoprsv none
arch none
uptime -ps none
nproc --all none
hostname -fsiIdA none
tty -s none
which -a text
type -aftpP text
command -vVp text
sed -nEr pattern
find find
git git
exit text
return text
break text
continue text
node version
python version
python3 version
gcc version
clang version
make version
`)

func readTable(table string) map[string]reader {
	out := map[string]reader{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		f := strings.Fields(line)
		r := reader{long: map[string]byte{}}
		for _, t := range f[1:] {
			last := t[len(t)-1]
			switch {
			case t == "--":
			case strings.HasPrefix(t, "--"):
				r.long[strings.Trim(t, "-=?@")] = last
			case t[0] == '-' && last == ':':
				r.values += t[1 : len(t)-1]
			case t[0] == '-' && last == '@':
				r.files += t[1 : len(t)-1]
			case t[0] == '-':
				r.bools += t[1:]
			case isDigits(t):
				r.most = int(t[0] - '0')
			default:
				r.operands = t
			}
		}
		out[f[0]] = r
	}
	for name, check := range map[string]func([]string) bool{"cd": cdReads, "date": dateReads, "sed": sedReads} {
		r := out[name]
		r.check = check
		out[name] = r
	}
	for _, name := range []string{"grep", "rg", "git", "find", "du", "tree", "ls"} {
		r := out[name]
		r.descends = true
		out[name] = r
	}
	return out
}

// cdReads: the home folder and the one before are not known to be in the roots.
func cdReads(args []string) bool {
	return len(args) > 0 && !strings.HasPrefix(args[len(args)-1], "-")
}

func dateReads(args []string) bool {
	return !slices.ContainsFunc(args, func(a string) bool { return !strings.HasPrefix(a, "+") && !strings.HasPrefix(a, "-") })
}

var printLines = regexp.MustCompile(`^[0-9]+(,([0-9]+|\$))?p$|^\$p$`)

// sedReads: "sed -n 10,20p file" and nothing else.
func sedReads(args []string) bool {
	return len(args) >= 2 && (args[0] == "-n" || args[0] == "-En" || args[0] == "-nE") && printLines.MatchString(args[1]) &&
		!slices.ContainsFunc(args[2:], func(a string) bool { return strings.HasPrefix(a, "-") && a != "-" })
}

// trusted folders hold the programs that their names promise.
var trusted = []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"}

// ownName reports whether the command is what its base name says.
func (c *Command) ownName() bool {
	if !strings.Contains(c.path, "/") {
		return true
	}
	dir, _ := path.Split(c.path)
	return slices.Contains(trusted, dir)
}

// whyNotRead says why the line is not known to change nothing, "" if it is.
// With secrets, commands that show files which they do not name are not either.
func (s *shellLine) whyNotRead(secrets bool) string {
	if s.Unclear != "" {
		return notUnderstood + s.Unclear
	}
	if s.impure != "" {
		return s.impure
	}
	for _, r := range s.Redirects {
		if why := s.redirectReads(r); why != "" {
			return why
		}
	}
	for i := range s.List {
		if why := s.commandReads(&s.List[i], secrets); why != "" {
			return why
		}
	}
	return ""
}

func (s *shellLine) redirectReads(r Redirect) string {
	if r.Write {
		return "it writes to " + show(r.Path)
	}
	if !s.within(r.in, r.word) {
		return "it reads " + show(r.Path) + ", which is not known to be in the working folders"
	}
	return ""
}

// commandReads says why a command is not known to change nothing.
func (s *shellLine) commandReads(c *Command, secrets bool) string {
	r, known := readers[c.Name]
	switch {
	case c.wraps && c.outer == 0 && c.Name != "exec" && c.Name != "sudo" && c.Name != "doas" && c.Name != "busybox" && c.Name != "toybox" && c.Name != "xargs":
		if !c.ownName() {
			return show(c.Name) + notKnown
		}
		return "" // the command that it runs is in the list as well
	case c.outer > 0 || !known || !c.ownName() || slices.ContainsFunc(c.set, func(n string) bool { return !changesNothing(n) }):
		return show(c.Name) + notKnown
	case secrets && r.descends:
		return show(c.Name) + " may show files that must not be read"
	}
	if s.reads == nil {
		s.reads = make([]*string, len(s.List))
	}
	if s.reads[c.at] == nil { // it is asked for several times
		why := s.readerReads(c, &r)
		s.reads[c.at] = &why
	}
	return *s.reads[c.at]
}

const notKnown = " is not known to be read-only"

// readerReads is commandReads for a program that is known to read.
func (s *shellLine) readerReads(c *Command, r *reader) string {
	dirs, ok := s.dirs(c.in)
	if !ok || slices.ContainsFunc(dirs, func(d string) bool { return !s.inside(d) }) {
		return show(c.Name) + " may run outside of the working folders"
	}
	for _, w := range c.words {
		if w.glob != "" && !s.within(c.in, w) {
			return show(w.text) + " is not known to be in the working folders"
		}
	}
	words, args := c.words, c.Args
	if slices.ContainsFunc(words, func(w word) bool { return w.glob != "" }) {
		if words, ok = s.expand(dirs, words); !ok {
			return "the arguments of " + show(c.Name) + " are only known when it runs"
		}
		args = make([]string, len(words))
		for i, w := range words {
			args[i] = w.text
		}
	}
	if r.check != nil && !r.check(args) {
		return show(c.text()) + notKnown
	}
	files, ok := r.parse(c.Name, words)
	if c.Name == "git" {
		ok = files != nil && !slices.ContainsFunc(dirs, func(d string) bool { return !s.gitSafe(d, visitsModules(args)) })
	}
	if !ok {
		return show(c.text()) + notKnown
	}
	for _, f := range files {
		if c.Name == "diff" && s.isDir(c.in, f) {
			return "diff follows links in folders"
		}
		if !s.within(c.in, f) {
			return show(f.text) + " is not known to be in the working folders"
		}
	}
	return ""
}

// isDir reports whether a word may name a folder.
func (s *shellLine) isDir(in []workdir, w word) bool {
	files, _ := s.files(in, w)
	return slices.ContainsFunc(files, func(f string) bool {
		fi, err := os.Stat(f)
		return err == nil && fi.IsDir()
	})
}

// parse returns the arguments that are paths; false if there is an argument that
// is not known to be harmless. For git the paths are never nil then.
func (r reader) parse(name string, words []word) (files []word, ok bool) {
	switch r.operands {
	case "echo":
		return nil, !slices.ContainsFunc(words, func(w word) bool { return w.split })
	case "version":
		return nil, len(words) == 1 && words[0].text == "--version"
	case "find":
		return findReads(words)
	case "git":
		return gitReads(words)
	}
	if slices.ContainsFunc(words, word.hidden) {
		return nil, false
	}
	var operands []word
	pattern := r.operands == "pattern"
	for i := 0; i < len(words); i++ {
		w := words[i]
		a := w.text
		if a == "--" && name != "[" && name != "test" {
			operands = append(operands, words[i+1:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' || name == "[" || name == "test" || r.operands == "text" && isDigits(a[1:]) {
			operands = append(operands, w)
			continue
		}
		used, flag, file, good := r.flag(words[i:])
		if !good {
			return nil, false
		}
		if file != nil {
			files = append(files, *file)
		}
		switch flag {
		case "e", "f", "regexp", "files", "type-list":
			pattern = false
		}
		i += used - 1
	}
	if r.most > 0 && len(operands) > r.most || r.operands == "none" && len(operands) > 0 {
		return nil, false
	}
	if pattern && len(operands) > 0 {
		operands = operands[1:]
	}
	if r.operands == "text" {
		return files, true
	}
	return append(files, operands...), true
}

// flag reads the flag that begins words: how many words it takes, the name of a
// long flag or of the letter with a value, and the path in it.
func (r reader) flag(words []word) (used int, name string, file *word, ok bool) {
	a := words[0].text
	used = 1
	value := func(kind byte, attached string, has bool) bool {
		v := word{text: attached}
		if !has {
			if used = 2; len(words) < 2 {
				return false
			}
			v = words[1]
		}
		if kind == '@' {
			file = &v
			return true
		}
		// Another version of the program may take the next word for a file.
		return has || name == "e" || name == "regexp" || !looksLikePath(v)
	}
	if long, isLong := strings.CutPrefix(a, "--"); isLong {
		name, attached, has := strings.Cut(long, "=")
		switch kind, known := r.long[name]; {
		case !known:
			return 0, "", nil, false
		case kind == '=' || kind == '@':
			ok = value(kind, attached, has)
		default:
			ok = !has || kind == '?'
		}
		return used, name, file, ok
	}
	for i := 1; i < len(a); i++ {
		rest := a[i+1:]
		kind := byte(':')
		switch {
		case strings.IndexByte(r.bools, a[i]) >= 0:
			continue
		case strings.IndexByte(r.files, a[i]) >= 0:
			kind = '@'
		case strings.IndexByte(r.values, a[i]) < 0:
			return 0, "", nil, false
		}
		name = a[i : i+1]
		ok = value(kind, rest, rest != "")
		return used, name, file, ok
	}
	return used, "", nil, true
}

func looksLikePath(w word) bool {
	return w.home || strings.HasPrefix(w.text, "/") || strings.HasPrefix(w.text, "~") || strings.HasPrefix(w.text, "..")
}

var findTests = map[string]int{}

func init() {
	for _, t := range strings.Fields("-empty -print -print0 -prune -not -and -or -a -o ! ( ) , -readable -writable -executable -true -false -depth -d -mount -xdev -ls -daystart -quit -noleaf") {
		findTests[t] = 0
	}
	for _, t := range strings.Fields("-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -perm -user -group -uid -gid -links -inum -lname -printf -regextype") {
		findTests[t] = 1
	}
}

// findReads accepts a find that only prints.
func findReads(words []word) (files []word, ok bool) {
	i := 0
	for ; i < len(words); i++ {
		t := words[i].text
		if t == "-P" || t == "-E" {
			continue
		}
		if t == "" || words[i].hidden() || t[0] == '-' || t == "(" || t == "!" || t == "," || t == ")" {
			break
		}
		files = append(files, words[i])
	}
	for ; i < len(words); i++ {
		if words[i].hidden() {
			return nil, false
		}
		if t := words[i].text; t == "-newer" || t == "-anewer" || t == "-cnewer" {
			if i++; i == len(words) || words[i].hidden() {
				return nil, false
			}
			files = append(files, words[i])
			continue
		}
		n, known := findTests[words[i].text]
		if i += n; !known || i >= len(words) || words[i].hidden() {
			return nil, false
		}
	}
	return files, true
}

// show makes what came from the model fit for a reason.
func show(s string) string { return text.Bytes(strings.ReplaceAll(s, Unknown, "…"), maxShown) }
