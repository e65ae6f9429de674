package session

import (
	"crypto/sha256"
	"path/filepath"

	"github.com/openagent-go/agent/internal/sessionid"
)

// agentsName is the folder of a session that holds those of its agents.
const agentsName = "agents"

// Under returns the store for the sessions of a session's sub-agents: they are stored with
// it and do not appear in other lists. A store that is no [Nester] keeps all in one place;
// there a fork's agents have ids that differ from their own.
func Under(store Store, session string) Store {
	if s, ok := store.(Nester); ok {
		return s.Under(session)
	}
	if s, ok := store.(*shared); ok {
		return s.below(session)
	}
	return &shared{Store: store, session: session}
}

// Under returns the store in the folder agents of a session's own folder.
func (d folderStore) Under(session string) Store {
	folder, err := d.folder(session)
	if err != nil {
		return folderStore{} // refuses everything
	}
	return folderStore{Path: filepath.Join(folder, agentsName)}
}

// Under returns the store of a session's agents.
func (m *memoryStore) Under(session string) Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.under == nil {
		m.under = map[string]*memoryStore{}
	}
	if m.under[session] == nil {
		m.under[session] = new(memoryStore)
	}
	return m.under[session]
}

// DerivedID returns a session id that follows from another one and a word, such as
// that of a call: a UUID of version 8 (RFC 9562) made of their hash.
func DerivedID(session, word string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + word))
	u := [16]byte(sum[:16])
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return sessionid.Spelled(u)
}
