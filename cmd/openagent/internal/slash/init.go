package slash

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/tool"
)

//go:embed init.md
var initPrompt string

// instructionsFile is the file that /init has the model write.
const instructionsFile = "AGENTS.md"

// HasInstructions reports whether the project has a file of instructions already.
func (c *Commands) HasInstructions() (bool, error) {
	_, err := os.Lstat(filepath.Join(c.App.Project, instructionsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// init has the model write the project's instructions. It does not touch a file that exists unless
// the person says how.
func (c *Commands) init(ctx context.Context, how string) error {
	if c.Running() {
		return errors.New("the agent is working; Ctrl-C stops it")
	}
	exists, err := c.HasInstructions()
	if err != nil {
		return err
	}
	task := ""
	switch {
	case how != "" && how != "improve" && how != "overwrite":
		return errors.New("write /init, /init improve or /init overwrite")
	case exists && how == "":
		return fmt.Errorf("%s exists; /init improve keeps what is right in it, /init overwrite replaces it", instructionsFile)
	case exists && how == "improve":
		task = "The file exists. Read it first. Keep what is right, correct what is wrong, add what is missing, and leave the rest as it is."
	case exists:
		task = "The file exists. Replace it, from the project alone."
	default:
		task = "The file does not exist yet."
	}
	x := &tool.Expansion{Kind: "slash_command", Name: "init", Args: how, Text: initPrompt + "\n" + task + "\n"}
	return c.Turn(ctx, c.App.Session.StreamInput(ctx, agent.Input{Expansion: x}))
}
