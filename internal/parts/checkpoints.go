package parts

import (
	"path/filepath"
	"time"

	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/session"
)

// Settings keys of file checkpoints.
const (
	CheckpointsKey      = "fileCheckpointingEnabled"
	CheckpointQuotaKey  = "checkpointQuotaMB"
	CheckpointMaxAgeKey = "checkpointMaxAgeDays"
)

// CheckpointStore returns the store of file checkpoints in the folder of the user's own files. All
// projects share one store and its quota. s may be nil.
func CheckpointStore(home string, s *config.Settings) *checkpoint.Store {
	store := &checkpoint.Store{Dir: filepath.Join(home, "checkpoints"), Apart: []string{home}}
	if s != nil {
		megabytes, days := int64(0), 0
		s.Decode(CheckpointQuotaKey, &megabytes)
		s.Decode(CheckpointMaxAgeKey, &days)
		store.Quota, store.MaxAge = megabytes<<20, time.Duration(min(days, 36500))*24*time.Hour
	}
	return store
}

// CheckpointsEnabled reports whether the settings enable file checkpoints. s may be nil.
func CheckpointsEnabled(s *config.Settings) bool {
	yes := true
	if s != nil {
		s.Decode(CheckpointsKey, &yes)
	}
	return yes
}

// CheckpointName returns the name of a session's checkpoints. It is the session's folder, because
// sessions of two projects may share an id.
func CheckpointName(store session.Store, id string) string {
	return filepath.Join(sessiondir.Path(store), id)
}
