package session

import (
	"context"
	"slices"
)

// Stat returns the Info of the session named id. Of a store that is no [Stater] it lists
// all sessions. It fails with [ErrNotFound].
func Stat(ctx context.Context, s Store, id string) (Info, error) {
	if s, ok := s.(Stater); ok {
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
