package parts

import (
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
)

// Catalog returns the catalog extended by the models of the settings. It is nil if the settings
// name no models. s may be nil.
func Catalog(s *config.Settings) *catalog.Table {
	var list []struct {
		catalog.Entry
		Price *struct {
			llm.Price
			CacheRead  *float64 `json:"cache_read"`
			CacheWrite *float64 `json:"cache_write"`
		} `json:"price"`
	}
	if s == nil || !s.Decode("models", &list) || len(list) == 0 {
		return nil
	}
	t := new(catalog.Table)
	for _, m := range list {
		e := m.Entry
		if m.Price != nil {
			p := m.Price.Price
			p.CacheRead, p.CacheWrite = p.Input, p.Input // without a cache price, caching saves nothing
			if m.Price.CacheRead != nil {
				p.CacheRead = *m.Price.CacheRead
			}
			if m.Price.CacheWrite != nil {
				p.CacheWrite = *m.Price.CacheWrite
			}
			e.Price = &p
		}
		if err := t.Register(e); err != nil {
			panic(err) // it was checked
		}
	}
	return t
}
