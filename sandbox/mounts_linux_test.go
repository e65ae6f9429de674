package sandbox

import (
	"slices"
	"testing"
)

func TestNamesOfMounts(t *testing.T) {
	mounts := parseMounts(`21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 0:20 / /proc rw - proc proc rw
23 21 8:1 /home/a/secret /srv/copy rw - ext4 /dev/sda1 rw
24 21 8:1 /home /mnt/with\040blank rw - ext4 /dev/sda1 rw
25 21 8:1 /home/a/secret/key /etc/one rw - ext4 /dev/sda1 rw
26 21 8:2 / /data rw - ext4 /dev/sdb1 rw
27 21 8:2 /sub /home/a/b rw - ext4 /dev/sdb1 rw
`)
	for path, want := range map[string][]string{
		"/home/a/secret":     {"/srv/copy", "/mnt/with blank/a/secret", "/etc/one"},
		"/home/a/secret/key": {"/srv/copy/key", "/mnt/with blank/a/secret/key", "/etc/one"},
		"/srv/copy/key":      {"/home/a/secret/key", "/mnt/with blank/a/secret/key", "/etc/one"},
		"/home/a/b/x":        {"/data/sub/x"},
		"/data/sub":          {"/home/a/b"},
		"/data/other":        nil,
		"/home/secret2":      {"/mnt/with blank/secret2"},
		"/proc/1":            nil,
	} {
		if got := namesOf(path, mounts); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
