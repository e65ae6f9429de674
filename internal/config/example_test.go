package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/internal/config"
)

// Load reads the layers of settings. A project's file may forbid; what it allows counts
// once you trust it.
func ExampleLoad() {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	err = os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{
  "model": "claude-sonnet-4-6",
  "permissions": {"deny": ["Read(.env)"]}
}`), 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}
	settings, err := config.Load(config.Options{Home: home})
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := settings.Get("model")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s from the %s layer\n", v.Value, v.Source.Scope)
	fmt.Println(settings.Policy().Deny) // for agent.Agent.Permissions
	// Output:
	// "claude-sonnet-4-6" from the user layer
	// [Read(.env)]
}
