package settings

import "github.com/openagent-go/agent/memory"

// The settings of the memory.
const (
	MemoryKey       = "memory.enabled"
	ReviewKey       = "memory.review"
	memoryBudgetKey = "memory.budget"
)

// Memory returns the memory that the settings ask for; nil: none.
func (o *Options) Memory() *memory.Memory {
	if o.Settings == nil || !o.switched(MemoryKey) {
		return nil
	}
	m := new(memory.Memory)
	o.Settings.Decode(memoryBudgetKey, &m.Budget)
	return m
}

// Reviews reports whether sessions are to be reviewed.
func (o *Options) Reviews() bool { return o.Memory() != nil && o.switched(ReviewKey) }

// switched reports whether a setting is true.
func (o *Options) switched(key string) bool {
	on := false
	o.Settings.Decode(key, &on)
	return on
}
