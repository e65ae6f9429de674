package engine

import "slices"

// A counter keeps something for each of a few keys. It is a list: a map of one key, which
// most are, takes eight times the room of every run.
type counter[K comparable, V any] []tallied[K, V]

type tallied[K comparable, V any] struct {
	key   K
	value V
}

// of returns what is kept for a key, for the caller to change until the next call of of.
func (t *counter[K, V]) of(key K) *V {
	i := slices.IndexFunc(*t, func(x tallied[K, V]) bool { return x.key == key })
	if i < 0 {
		i = len(*t)
		*t = append(*t, tallied[K, V]{key: key})
	}
	return &(*t)[i].value
}

// get returns what is kept for a key, the zero value if there is nothing.
func (t counter[K, V]) get(key K) (value V) {
	for i := range t {
		if t[i].key == key {
			return t[i].value
		}
	}
	return value
}

// table returns all that is kept, nil for nothing.
func (t counter[K, V]) table() map[K]V {
	if len(t) == 0 {
		return nil
	}
	m := make(map[K]V, len(t))
	for _, x := range t {
		m[x.key] = x.value
	}
	return m
}

func (t *counter[K, V]) drop(key K) {
	*t = slices.DeleteFunc(*t, func(x tallied[K, V]) bool { return x.key == key })
}
