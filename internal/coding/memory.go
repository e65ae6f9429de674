package coding

import (
	"github.com/openagent-go/agent/internal/trusted"
	"github.com/openagent-go/agent/memory"
)

// The names of the stores of memory entries.
const (
	ProjectMemory = "project"
	UserMemory    = "user"
)

// MemoryStores returns the stores of memory entries of a project and of the user. home is the folder
// of the user's own files; "" is none. Entries of the project count once the user has accepted them.
func MemoryStores(project, home string) []memory.Named {
	var stores []memory.Named
	own := memory.Open(home, "memory")
	store := memory.Open(project, memory.ProjectFolder)
	if home == "" || store.Path() != own.Path() {
		store.Trust = trusted.Entries{Home: home}
		stores = append(stores, memory.Named{Name: ProjectMemory, Store: store})
	}
	if home != "" {
		stores = append(stores, memory.Named{Name: UserMemory, Store: own})
	}
	return stores
}
