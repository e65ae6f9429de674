// Package pairs tests features of agents in pairs: each pair in a program of its own, with
// real processes, git and servers, whole and killed at a random moment. Its tests say what
// holds for any combination.
package pairs
