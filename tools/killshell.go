package tools

import (
	"context"
	_ "embed"
	"time"

	"github.com/openagent-go/agent/tool"
)

//go:embed killshell.md
var killShellText string

type killShellInput struct {
	ShellID string `json:"shell_id"`
}

// KillShell returns the tool that ends background commands.
func KillShell(jobs Terminal) tool.Tool {
	return tool.New(tool.Spec{
		Name: "KillShell", Title: "End a background command", Description: killShellText, Idempotent: true,
	}, func(ctx context.Context, call tool.Call, in killShellInput) (*tool.Result, error) {
		start := time.Now()
		report, err := jobs.StopJob(ctx, call.Session, in.ShellID)
		return jobResult(in.ShellID, report, time.Since(start), err)
	})
}
