// Package order sorts and searches lists with code that every program has anyway. sort.Slice
// would make each program 8 kB larger, and slices.SortFunc about 10 kB for each type of
// element. The functions of slices that search a list of structs take one or two kB for each.
package order

import "sort"

// By returns a list of n elements for sort.Sort and sort.Stable.
func By(n int, less func(i, j int) bool, swap func(i, j int)) sort.Interface {
	return &list{n, less, swap}
}

type list struct {
	n    int
	less func(i, j int) bool
	swap func(i, j int)
}

func (l *list) Len() int           { return l.n }
func (l *list) Less(i, j int) bool { return l.less(i, j) }
func (l *list) Swap(i, j int)      { l.swap(i, j) }

// Find returns the least index below n for which is returns true, -1 if there is none. Unlike
// slices.IndexFunc, it is not compiled again for each type, and copies no element.
//
//go:noinline // called from many places: every program stays smaller
func Find(n int, is func(i int) bool) int {
	for i := range n {
		if is(i) {
			return i
		}
	}
	return -1
}

// Any reports whether is returns true for an index below n, see [Find].
func Any(n int, is func(i int) bool) bool { return Find(n, is) >= 0 }

// Keep moves the elements of a list of n that are kept to its front, and returns how many
// there are. The caller shortens the list, and clears the rest.
//
//go:noinline // called from many places: every program stays smaller
func Keep(n int, keep func(i int) bool, move func(to, from int)) int {
	kept := 0
	for i := range n {
		if !keep(i) {
			continue
		}
		if kept < i {
			move(kept, i)
		}
		kept++
	}
	return kept
}
