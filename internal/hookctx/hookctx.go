// Package hookctx holds what the context of a hook says: how deep it is, and who sees its
// progress.
package hookctx

import "context"

// A hookContext is the ctx of a hook, one for each call.
type hookContext struct {
	context.Context
	depth    int
	progress func(line string)
}

// MaxDepth is how deep runs may be started by hooks of runs.
const MaxDepth = 3

// DepthVariable tells a program that a hook starts how many hooks it is within.
const DepthVariable = "OPENAGENT_HOOK_DEPTH"

type contextKey struct{}

func (c *hookContext) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// New returns the context of a hook that is within depth hooks. progress, unless nil, gets
// its lines.
func New(ctx context.Context, depth int, progress func(line string)) context.Context {
	return &hookContext{Context: ctx, depth: depth, progress: progress}
}

// Depth returns how many hooks ctx is within.
func Depth(ctx context.Context) int {
	if c, ok := ctx.Value(contextKey{}).(*hookContext); ok {
		return c.depth
	}
	if n, ok := ctx.Value(depthKey{}).(int); ok {
		return n
	}
	return 0
}

// WithDepth returns a context that is within n hooks: for a program that was
// started by a hook.
func WithDepth(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, depthKey{}, n)
}

type depthKey struct{}

// Progress reports a line that a hook has written while it runs.
func Progress(ctx context.Context, line string) {
	if c, ok := ctx.Value(contextKey{}).(*hookContext); ok && c.progress != nil {
		c.progress(line)
	}
}
