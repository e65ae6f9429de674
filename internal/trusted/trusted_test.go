package trusted

import "testing"

// A file or folder is trusted as it was: a change takes the trust away.
func TestHas(t *testing.T) {
	l := List{
		Folders: map[string]Folder{"/p/tools": {Sum: "1"}},
		Files:   map[string]File{"/p/settings.json": {Sum: "1"}},
		Skills:  map[string]Folder{"/p/skills": {Sum: "1"}},
		Plugins: map[string]Folder{"/p/plugin": {Sum: "1"}},
	}
	for kind, path := range map[string]string{"tools": "/p/tools", "settings": "/p/settings.json", "skills": "/p/skills", "plugins": "/p/plugin"} {
		if !l.Has(kind, path, "1") {
			t.Errorf("%s are not trusted as they were", kind)
		}
		if l.Has(kind, path, "2") || l.Has(kind, path+"2", "1") || l.Has(kind, path+"2", "") {
			t.Errorf("%s are trusted as they were not", kind)
		}
	}
}
