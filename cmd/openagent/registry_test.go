package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRegistryManifest holds registry/agent.json and its icon against the rules of the registry of
// the Agent Client Protocol.
func TestRegistryManifest(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("registry", "agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		ID, Name, Version, Description, Repository, Website, License string
		Authors                                                      []string
		Distribution                                                 struct {
			Binary map[string]struct {
				Archive, Cmd string
				Args         []string
			}
		}
	}
	in := json.NewDecoder(strings.NewReader(string(data)))
	in.DisallowUnknownFields()
	if err := in.Decode(&m); err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"id":          regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(m.ID),
		"version":     regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(m.Version),
		"name":        m.Name != "",
		"description": m.Description != "",
		"license":     m.License == "MIT",
		"repository":  m.Repository == "https://github.com/openagent-go/agent",
		"authors":     len(m.Authors) > 0,
	} {
		if !ok {
			t.Errorf("registry/agent.json: the member %s is missing or wrong", name)
		}
	}
	if _, page, ok := strings.Cut(m.Website, "/blob/main/"); !ok {
		t.Errorf("the website is %s", m.Website)
	} else if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(page))); err != nil {
		t.Error(err)
	}
	for _, platform := range []string{"darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64", "windows-aarch64", "windows-x86_64"} {
		b := m.Distribution.Binary[platform]
		archive, cmd := "openagent-"+platform+".tar.gz", "./openagent"
		if strings.HasPrefix(platform, "windows") {
			archive, cmd = "openagent-"+platform+".zip", "./openagent.exe"
		}
		if b.Archive != m.Repository+"/releases/download/v"+m.Version+"/"+archive || b.Cmd != cmd || path.Join(b.Args...) != "acp" {
			t.Errorf("%s: %+v", platform, b)
		}
	}
	if len(m.Distribution.Binary) != 6 {
		t.Errorf("%d platforms", len(m.Distribution.Binary))
	}
}

// TestRegistryIcon: the icon is 16×16 and has no colour of its own.
func TestRegistryIcon(t *testing.T) {
	f, err := os.Open(filepath.Join("registry", "icon.svg"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	colours, in := 0, xml.NewDecoder(f)
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range e.Attr {
			switch name := a.Name.Local; {
			case e.Name.Local == "svg" && (name == "width" || name == "height") && a.Value != "16", name == "viewBox" && a.Value != "0 0 16 16":
				t.Errorf("%s is %s", name, a.Value)
			case name == "fill", name == "stroke":
				if a.Value == "currentColor" {
					colours++
				} else if a.Value != "none" {
					t.Errorf("%s of %s is %s; use currentColor", name, e.Name.Local, a.Value)
				}
			case name == "style", name == "class":
				t.Errorf("%s has a %s", e.Name.Local, name)
			}
		}
	}
	if colours == 0 {
		t.Error("the icon does not use currentColor")
	}
}
