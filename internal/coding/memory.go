package coding

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"sync"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/trusted"
	"github.com/openagent-go/agent/memory"
)

// The names of the stores of memory entries.
const (
	ProjectMemory = "project"
	UserMemory    = "user"
)

// memoryTool is the name of the tool.
const memoryTool = "Memory"

// MemoryStores returns the stores of memory entries of a project and of the user. home is the folder
// of the user's own files; "" is none. Entries count once the user has accepted them.
func MemoryStores(project, home string) []memory.Named {
	return memoryStores(project, home, trusted.Entries{Home: home})
}

func memoryStores(project, home string, trust memory.Trust) (stores []memory.Named) {
	store, own := memory.Open(project, memory.ProjectFolder), memory.Open(home, "memory")
	store.Trust, own.Trust = trust, trust
	if home == "" || paths.RealPath(store.Path()) != paths.RealPath(own.Path()) {
		stores = append(stores, memory.Named{Name: ProjectMemory, Store: store})
	}
	if home != "" {
		stores = append(stores, memory.Named{Name: UserMemory, Store: own})
	}
	return stores
}

// openMemory opens the memory, and asks about entries that nobody has accepted.
func (c *Coder) openMemory(ctx context.Context) error {
	if c.options.Memory == nil {
		return nil
	}
	m := *c.options.Memory
	if m.Log == nil {
		m.Log = c.Agent.Log
	}
	c.Memory = &m
	if len(m.Stores) > 0 {
		return nil
	}
	trust := &entryTrust{coder: c, known: map[string]bool{}}
	m.Stores = memoryStores(c.finder.Project, c.finder.Home, trust)
	for _, n := range m.Stores {
		if err := c.trustEntries(ctx, n, trust); err != nil {
			return err
		}
	}
	return nil
}

// addMemory gives the agent its notes and the tool. Sub-agents that have no Context of their own get
// the notes too.
func (c *Coder) addMemory() {
	m := c.Memory
	if m == nil {
		return
	}
	if before := c.Agent.Context; before == nil {
		c.Agent.Context = m.Context
	} else {
		c.Agent.Context = func(ctx context.Context, at agent.Place) []agent.Note {
			return append(slices.Clip(before(ctx, at)), m.Context(ctx, at)...)
		}
	}
	if c.wantsMemory() {
		c.Agent.Tools = append(slices.Clip(c.Agent.Tools), m.Tool())
	}
}

// wantsMemory reports whether the agent has the tool. Options or settings that list the tools have to
// name it.
func (c *Coder) wantsMemory() bool {
	w := c.wanted()
	return c.Memory != nil && (len(w) == 0 || slices.Contains(w, "all") || slices.Contains(w, memoryTool))
}

// FoundEntries are active entries of a folder that nobody here has accepted.
type FoundEntries struct {
	Folder  string
	Entries []FoundEntry
}

// A FoundEntry is an entry in the state in which Sum stands for its file.
type FoundEntry struct {
	*memory.Entry
	File, Sum string
}

// trustEntries asks whether active entries that nobody here has accepted are to count.
func (c *Coder) trustEntries(ctx context.Context, n memory.Named, trust *entryTrust) error {
	seen := &entryRecorder{trust: trust, sums: map[string]string{}}
	n.Store.Trust = seen
	entries, _, err := n.Store.Entries()
	n.Store.Trust = trust
	if err != nil {
		c.warn(Memory, err)
		return nil
	}
	found := FoundEntries{Folder: n.Store.Path()}
	all := sha256.New()
	for _, e := range entries {
		file := n.Store.File(e.ID)
		if sum := seen.sums[file]; sum != "" && memory.Suspicious(e.Title+"\n"+e.Text) == "" {
			found.Entries = append(found.Entries, FoundEntry{e, file, sum})
			all.Write([]byte(file + "\x00" + sum + "\x00"))
		}
	}
	if len(found.Entries) == 0 {
		return nil
	}
	yes, err := c.trusts(ctx, parts.Source{Kind: string(Memory), Path: found.Folder, Sum: base64.RawURLEncoding.EncodeToString(all.Sum(nil)), Content: found})
	if err != nil || !yes {
		return err
	}
	for _, e := range found.Entries {
		trust.learn(e.File, e.Sum)
	}
	return nil
}

// An entryTrust knows which contents of entries count in this process. It is a [memory.Trust].
type entryTrust struct {
	coder *Coder

	mu    sync.Mutex      // guards known
	known map[string]bool // by file and sum
}

func (t *entryTrust) learn(file, sum string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[file+"\x00"+sum] = true
}

// Trusted implements [memory.Trust]. Nobody is asked: the source has no content.
func (t *entryTrust) Trusted(file string, content []byte) bool {
	sum := trusted.EntrySum(content)
	t.mu.Lock()
	known := t.known[file+"\x00"+sum]
	t.mu.Unlock()
	trust := t.coder.options.Trust
	if known || trust == nil {
		return known
	}
	yes, err := trust(context.Background(), Source{Kind: Memory, Path: file, Sum: sum})
	if err != nil || !yes {
		return false
	}
	t.learn(file, sum)
	return true
}

// Add implements [memory.Trust]: an entry was accepted on this machine.
func (t *entryTrust) Add(file string, content []byte) error {
	if home := t.coder.finder.Home; home != "" && t.coder.options.Trust != nil {
		if err := (trusted.Entries{Home: home}).Add(file, content); err != nil {
			return err
		}
	}
	t.learn(file, trusted.EntrySum(content))
	return nil
}

// An entryRecorder notes the files of active entries that are not trusted.
type entryRecorder struct {
	trust *entryTrust
	sums  map[string]string // by file
}

// Trusted implements [memory.Trust].
func (r *entryRecorder) Trusted(file string, content []byte) bool {
	if r.trust.Trusted(file, content) {
		return true
	}
	r.sums[file] = trusted.EntrySum(content)
	return false
}

// Add implements [memory.Trust].
func (r *entryRecorder) Add(file string, content []byte) error { return r.trust.Add(file, content) }
