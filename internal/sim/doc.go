// Package sim finds combinations of features that fail together. Its tests make random
// programs over the public library from a seed, run them under virtual time with crashes at
// random writes, and check invariants after every step. See docs/simulator.md.
package sim
