// Package pairs tests features of agents in pairs: each pair in its own program, with real
// processes, git and servers, whole and killed at a random moment. Its tests check
// properties that hold for every combination.
package pairs
