package rules

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Rules tell drives apart, and one file by all the names that Windows and a Unix shell have for it.
func TestDrives(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "secret folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"a.txt", "secret folder/key"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slashed := filepath.ToSlash(dir)
	letter, rest := dir[:1], slashed[2:]
	other := "Q"
	if strings.EqualFold(letter, other) {
		other = "R"
	}
	files := func(policy Policy, file string) Behavior {
		return policy.Decide(Request{Tool: "Edit", Dir: dir, Access: []Access{{Kind: EditFile, Target: file}}}).Behavior
	}
	allow := func(r Rule) Policy { return Policy{Mode: DontAsk, Allow: []Rule{r}} }
	deny := func(r Rule) Policy { return Policy{Mode: Bypass, Deny: []Rule{r}} }
	for _, c := range []struct {
		policy Policy
		file   string
		want   Behavior
	}{
		{allow("Edit(/**)"), dir + `\a.txt`, Allowed},
		{allow("Edit(/**)"), strings.ToLower(letter) + dir[1:] + `\a.txt`, Allowed},
		{allow("Edit(/**)"), other + dir[1:] + `\a.txt`, Denied},
		{allow("Edit(/**)"), `\\?\` + dir + `\a.txt`, Denied},
		{allow("Edit(/**)"), `\\localhost\` + letter + `$` + dir[2:] + `\a.txt`, Denied},
		{allow(Rule("Edit(//" + letter + rest + "/**)")), dir + `\a.txt`, Allowed},
		{allow(Rule("Edit(//" + other + rest + "/**)")), dir + `\a.txt`, Denied},
		{allow(Rule("Edit(" + other + ":" + rest + "/**)")), other + dir[1:] + `\a.txt`, Allowed},
		{allow(Rule(`Edit(` + dir + `\**)`)), dir + `\a.txt`, Allowed},
		{allow(`Edit(\\server\share\x\**)`), `\\server\share\x\a`, Allowed},
		{allow(`Edit(\\server\share\x\**)`), `\\server\other\x\a`, Denied},
		{deny("Edit(/a.txt)"), dir + `\A.TXT`, Denied},
		{deny("Edit(/a.txt)"), dir + `\a.txt. .`, Denied},
		{deny("Edit(/a.txt)"), dir + `\a.txt::$DATA`, Denied},
		{deny("Edit(/a.txt)"), `\\?\` + dir + `\a.txt`, Denied},
		{deny("Edit(/a.txt)"), `\\localhost\` + letter + `$` + dir[2:] + `\a.txt`, Denied},
		{deny(Rule("Edit(//" + letter + rest + "/a.txt)")), dir + `\a.txt`, Denied},
		{deny(Rule("Edit(//" + other + "/**)")), dir + `\a.txt`, Allowed},
		{deny(`Edit(src\**)`), dir + `\b.txt`, Denied}, // it cannot be read
	} {
		if got := files(c.policy, c.file); got != c.want {
			t.Errorf("%v %v, %s: %s, want %s", c.policy.Allow, c.policy.Deny, c.file, got, c.want)
		}
	}

	commands := func(policy Policy, line string) Behavior {
		return policy.Decide(Request{Tool: "Bash", Dir: dir, Access: []Access{{Kind: RunCommand, Target: line}}}).Behavior
	}
	unix := "/" + strings.ToLower(letter) + rest
	for _, line := range []string{
		"cat 'secret folder/key'", "cat '" + dir + `\secret folder\key'`, "cat '" + unix + "/secret folder/key'", "cat '/cygdrive" + unix + "/secret folder/key'",
		"cat 'SECRET FOLDER/KEY. .'", "cat 'secret folder/key::$DATA'", "cat " + unix + "/secret*/key", "cat " + slashed + "/secret*/k*", "cd " + unix + " && cat secret*/key", "cat secret*/new",
		"cat " + unix + "/secret?folder/new*",
		"cat '/proc/cygdrive" + unix + "/secret folder/key'", "cat '/proc/self/root" + unix + "/secret folder/key'", "cat '//" + unix + "/secret folder/key'", "cat '/x/.." + unix + "/secret folder/key'",
	} {
		if got := commands(deny("Read(/secret folder/**)"), line); got != Denied {
			t.Errorf("%s: %s, want denied", line, got)
		}
	}
	for line, want := range map[string]Behavior{
		"cat a.txt": Allowed, "cat " + slashed + "/a.txt": Allowed,
		"cat /" + strings.ToLower(other) + rest + "/a.txt": Denied, "cat " + other + ":a.txt": Denied, "cat " + other + ":" + rest + "/a.txt": Denied, "cat /etc/passwd": Denied, "cat //server/share/a": Denied,
	} {
		if got := commands(Policy{Mode: DontAsk}, line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	for _, r := range []Rule{`Read(a\b)`, `Read(.\secrets\**)`} {
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), "write / instead") {
			t.Errorf("%s: %v", r, err)
		}
	}
}

// A short name of a file is the file.
func TestShortNames(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a long name.secret")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long, err := syscall.UTF16PtrFromString(file)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]uint16, syscall.MAX_PATH)
	if _, err := syscall.GetShortPathName(long, &buf[0], uint32(len(buf))); err != nil {
		t.Fatal(err)
	}
	short := filepath.Base(syscall.UTF16ToString(buf))
	if short == filepath.Base(file) {
		t.Skip("this disk has no short names")
	}
	p := Policy{Mode: Bypass, Deny: []Rule{"Read(*.secret)"}}
	if d := p.Decide(Request{Tool: "Bash", Dir: dir, Access: []Access{{Kind: RunCommand, Target: "cat " + short}}}); d.Behavior != Denied {
		t.Errorf("%s: %v", short, d)
	}
}
