package paths

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStraight: on random trees of folders, files and links, one call of the kernel
// and a look at each folder say the same of paths that exist, in part or not at all.
func TestStraight(t *testing.T) {
	if straight("/"); noOpenat2.Load() {
		t.Skip("this kernel has no openat2")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	plain, linked := 0, 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		base := filepath.Join(root, string(rune('A'+seed)))
		if err := os.Mkdir(base, 0o700); err != nil {
			t.Fatal(err)
		}
		random := func() string {
			names := make([]string, 1+r.IntN(5))
			for i := range names {
				names[i] = string("abc"[r.IntN(3)])
			}
			return strings.Join(names, "/")
		}
		for range 25 { // what is in the way of another stays
			p := filepath.Join(base, random())
			switch r.IntN(4) {
			case 0:
				_ = os.WriteFile(p, nil, 0o600)
			case 1:
				_ = os.Symlink(random(), p)
			case 2:
				_ = os.Symlink(filepath.Join(base, random()), p)
			default:
				_ = os.MkdirAll(p, 0o700)
			}
		}
		for range 100 {
			p := filepath.Join(base, random())
			if r.IntN(4) == 0 {
				p += "/../" + random() // is looked at folder by folder
			}
			want := realPath(p, os.Readlink)
			if got := (&disk{}).real(p, filepath.Clean(p)); got != want {
				t.Fatalf("seed %d: %s is %q, want %q", seed, p, got, want)
			}
			if p != filepath.Clean(p) {
				continue
			}
			if got := straight(p); got != (want == p) {
				t.Fatalf("seed %d: straight(%s) = %v, it leads to %q", seed, p, got, want)
			} else if got {
				plain++
			} else {
				linked++
			}
		}
	}
	if plain < 100 || linked < 100 {
		t.Errorf("%d paths without links and %d with: too few to tell", plain, linked)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors are open, %d were", after, before)
	}
}

// TestStraightRefused: what the kernel does not answer is looked at folder by folder.
func TestStraightRefused(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", root+"/l"); err != nil {
		t.Fatal(err)
	}
	noOpenat2.Store(true)
	defer noOpenat2.Store(false)
	for p, want := range map[string]string{root + "/l/x": "/etc/x", root + "/a/b": root + "/a/b"} {
		if got := (&disk{}).real(p, p); got != want || straight(p) {
			t.Errorf("%s leads to %s, want %s", p, got, want)
		}
	}
	if p := "/" + strings.Repeat("a/", 4000) + "b"; straight(p) {
		t.Error("a path that is too long for the kernel is said to be without links")
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}
