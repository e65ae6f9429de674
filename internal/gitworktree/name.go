package gitworktree

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// maxWorktreeName is the length in bytes of the longest name of a worktree.
const maxWorktreeName = 48

// reservedNames are those that Windows keeps for devices, with any extension.
var reservedNames = strings.Fields("con prn aux nul com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9")

// worktreeName makes a name that is valid as a folder on every system and as the end of a
// branch's name: ASCII letters and digits with single '-', '_' and '.' between them. It is
// "" if no character of the name can stay.
func worktreeName(name string) string {
	var b strings.Builder
	last := '-'
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case r == '_' || r == '.':
		default:
			r = '-'
		}
		if strings.ContainsRune("-_.", r) && strings.ContainsRune("-_.", last) {
			continue
		}
		if last = r; b.Len() == maxWorktreeName {
			break
		}
		b.WriteRune(r)
	}
	out := strings.Trim(b.String(), "-_.")
	for stem := out; ; out = stem { // git keeps names that end so for itself
		if stem = strings.TrimRight(strings.TrimSuffix(strings.ToLower(out), ".lock"), "-_."); len(stem) == len(out) {
			break
		}
		stem = out[:len(stem)]
	}
	if stem, _, _ := strings.Cut(strings.ToLower(out), "."); slices.Contains(reservedNames, stem) {
		out = "w-" + out
	}
	return out
}

// madeUpName is the name for a call that gives none: the same if the call is made
// again.
func madeUpName(session, call string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + call))
	return "w" + hex.EncodeToString(sum[:4])
}
