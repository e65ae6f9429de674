package rules

import "testing"

// No mode lets a command open the terminal of a person unasked.
func TestTerminals(t *testing.T) {
	for line, leads := range map[string]bool{
		"echo x > /dev/pts/0":                                          true,
		"for t in /dev/pts/[0-9]*; do echo x > $t; done":               true,
		`echo x > /dev/p't's/0`:                                        true,
		"echo x > /dev/p*/0":                                           true,
		"echo x > /dev/$d/0":                                           true,
		"echo x > /proc/$PPID/fd/1":                                    true,
		"cat /proc/*/fd/0":                                             true,
		"cat /proc/12/task/12/fd/0":                                    true,
		"python3 -c 'open(\"/dev/pts/3\",\"w\").write(1)'":             true,
		"echo x > /dev/tty1":                                           true,
		"echo x > /dev/console":                                        true,
		"echo x > /dev/null; cat /proc/self/fd/0 /dev/stdin /dev/fd/3": false,
		"echo x > /dev/tty":                                            false,
		"cat /proc/12/status":                                          false,
		"head /dev/urandom":                                            false,
	} {
		r := Request{Tool: "Bash", Dir: "/w", Roots: []string{"/w"}, Access: []Access{{Kind: RunCommand, Target: line}}}
		for _, p := range []Policy{{Mode: Default}, {Mode: Auto}, {Mode: Bypass}, {Mode: Default, Allow: []Rule{"Bash"}}, {Mode: DontAsk, Allow: []Rule{"Bash"}}} {
			d := p.Decide(r)
			if leads && d.Behavior == Allowed || leads && p.Mode == Bypass && d.Behavior != Denied {
				t.Errorf("%s in %s with %v: %s, %s", line, p.Mode, p.Allow, d.Behavior, d.Reason)
			}
			if !leads && len(p.Allow) > 0 && d.Behavior != Allowed {
				t.Errorf("%s in %s: %s, %s", line, p.Mode, d.Behavior, d.Reason)
			}
		}
	}
	edit := Request{Tool: "Write", Dir: "/w", Roots: []string{"/"}, Access: []Access{{Kind: EditFile, Target: "/dev/pts/0"}}}
	for _, mode := range []Mode{Bypass, AcceptEdits, Auto} {
		if d := (Policy{Mode: mode}).Decide(edit); d.Behavior == Allowed {
			t.Errorf("%s: %s", mode, d.Reason)
		}
	}
}
