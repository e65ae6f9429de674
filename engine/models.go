package engine

import (
	"maps"
	"slices"

	"github.com/openagent-go/agent/llm"
)

// A knownModel is a model that was told of. There are few, and a list of few takes a
// tenth of what a map does.
type knownModel struct {
	name string
	info llm.Info
}

// Info returns what is known of a model, the zero Info if nothing.
func (s *State) Info(model string) llm.Info {
	for i := range s.models {
		if s.models[i].name == model {
			return s.models[i].info
		}
	}
	return llm.Info{}
}

// Models returns all models that were told of, by name.
func (s *State) Models() map[string]llm.Info {
	all := make(map[string]llm.Info, len(s.models))
	for _, m := range s.models {
		all[m.name] = m.info
	}
	return all
}

// knowOnly forgets all models but these.
func (s *State) knowOnly(models map[string]llm.Info) {
	s.models = make([]knownModel, 0, len(models))
	for _, name := range slices.Sorted(maps.Keys(models)) {
		s.models = append(s.models, knownModel{name, models[name]})
	}
}

// know keeps what is known of a model.
func (s *State) know(model string, info llm.Info) {
	for i := range s.models {
		if s.models[i].name == model {
			s.models[i].info = info
			return
		}
	}
	s.models = append(s.models, knownModel{model, info})
}
