package effects

import (
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/permission/internal/shellword"
)

// A Reader says which calls of a program change nothing. What is not listed is
// not known to change nothing; long flags must be written out.
type Reader struct {
	bools    string // one-letter flags
	values   string // one-letter flags with a value, in the same word or the next
	files    string // as values, the value being a path
	long     map[string]byte
	operands string // paths, text, none, pattern (text, then paths), version or a way of its own
	most     int    // operands, 0 for any number
	Descends bool   // shows files that its arguments do not name
	Check    func(args []string) bool
}

// Readers is the table of programs that may run without asking. A line is the
// name, the flags (letters with ":" take a value, with "@" a path; long flags
// end in "=" for a value, "?" for one that only "=" can give, "@" for a path)
// and what the other arguments are.
var Readers = readTable(`
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

func readTable(table string) map[string]Reader {
	out := map[string]Reader{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		f := strings.Fields(line)
		r := Reader{long: map[string]byte{}}
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
			case shellword.IsDigits(t):
				r.most = int(t[0] - '0')
			default:
				r.operands = t
			}
		}
		out[f[0]] = r
	}
	for name, check := range map[string]func([]string) bool{"cd": cdReads, "date": dateReads, "sed": sedReads} {
		r := out[name]
		r.Check = check
		out[name] = r
	}
	for _, name := range []string{"grep", "rg", "git", "find", "du", "tree", "ls"} {
		r := out[name]
		r.Descends = true
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

// Parse returns the arguments that are paths; false if there is an argument that
// is not known to change nothing. For git the paths are never nil then.
func (r Reader) Parse(name string, words []shellword.Word) (files []shellword.Word, ok bool) {
	switch r.operands {
	case "echo":
		return nil, !slices.ContainsFunc(words, func(w shellword.Word) bool { return w.Split })
	case "version":
		return nil, len(words) == 1 && words[0].Text == "--version"
	case "find":
		return findReads(words)
	case "git":
		return gitReads(words)
	}
	if slices.ContainsFunc(words, shellword.Word.Hidden) {
		return nil, false
	}
	var operands []shellword.Word
	pattern := r.operands == "pattern"
	for i := 0; i < len(words); i++ {
		w := words[i]
		a := w.Text
		if a == "--" && name != "[" && name != "test" {
			operands = append(operands, words[i+1:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' || name == "[" || name == "test" || r.operands == "text" && shellword.IsDigits(a[1:]) {
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
func (r Reader) flag(words []shellword.Word) (used int, name string, file *shellword.Word, ok bool) {
	a := words[0].Text
	used = 1
	value := func(kind byte, attached string, has bool) bool {
		v := shellword.Word{Text: attached}
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

func looksLikePath(w shellword.Word) bool {
	return w.Home || strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, "~") || strings.HasPrefix(w.Text, "..")
}

// IsReader reports whether a program is known to change nothing when it is called in
// certain ways.
func IsReader(name string) bool {
	_, known := Readers[name]
	return known
}

// ReadsFiles reports whether a program is known to change nothing when it is called in
// other ways than to say its version.
func ReadsFiles(name string) bool {
	r, known := Readers[name]
	return known && r.operands != "version"
}
