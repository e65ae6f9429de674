package session

import (
	"context"
	"slices"
)

// Stat returns the Info of the session named id, from the store's own Stat method if it has
// one. It fails with [ErrNotFound].
func Stat(ctx context.Context, s Store, id string) (Info, error) {
	if s, ok := s.(interface {
		Stat(context.Context, string) (Info, error)
	}); ok {
		return s.Stat(ctx, id)
	}
	if err := CheckID(id); err != nil {
		return Info{}, err
	}
	list, err := s.List(ctx)
	if err != nil {
		return Info{}, err
	}
	if i := slices.IndexFunc(list, func(info Info) bool { return info.Session == id }); i >= 0 {
		return list[i], nil
	}
	return Info{}, notFound(id)
}
