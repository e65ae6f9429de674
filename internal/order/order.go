// Package order sorts lists with code that every program has anyway. sort.Slice would make each
// program 8 kB larger, and slices.SortFunc about 10 kB for each type of element.
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
