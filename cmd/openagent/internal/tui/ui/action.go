package ui

// An Action is what a change of the model asks the program to do.
type Action interface{ action() }

type (
	// Send gives a message to the agent. The program answers with Sent, and at last with
	// Returned or not at all.
	Send struct{ Message Message }
	// TakeBack takes a message of the running prompt back that the agent has not got. The
	// program answers with Returned, or with Kept if the agent has got it.
	TakeBack struct{ N int }
	// Interrupt stops the run.
	Interrupt struct{}
	// Leave ends the program.
	Leave struct{}
	// Suspend stops the program until the shell continues it.
	Suspend struct{}
	// Repaint paints everything again.
	Repaint struct{}
	// ShowWhole shows the whole session, with every output, on a screen of its own.
	ShowWhole struct{}
	// ShowTimes shows the timeline of the session, on a screen of its own.
	ShowTimes struct{}
	// Command runs a command that begins with a slash. The program answers with Output.
	Command struct{ Line string }
	// Shell runs a command line of the person. The program answers with Output.
	Shell struct{ Line string }
	// AddNote keeps a text in the project's instructions. The program answers with Output.
	AddNote struct{ Text string }
	// Decide answers a permission question.
	Decide struct {
		ID       int
		Decision Decision
	}
	// Reply answers the questions of a tool.
	Reply struct {
		ID      int
		Answers []Answer
	}
	// ListFiles looks for files to complete a name. The program answers with Files.
	ListFiles struct{ Query string }
	// SaveDraft keeps the text that is not sent yet. "" removes it.
	SaveDraft struct{ Text string }
	// Remember adds a text to the history of messages.
	Remember struct{ Text string }
	// EditOutside opens the text in the person's editor. The program answers with Edited.
	EditOutside struct{ Text string }
	// LoadImage reads an image that was named in a paste. The program answers with Image.
	LoadImage struct {
		Path   string
		Pasted string // as it is in the input
	}
	// CycleMode changes the permission mode to the next one.
	CycleMode struct{}
	// Picked is what the person chose in a picker.
	Picked struct{ Kind, Value string }
	// Unpicked means that the person closed a picker.
	Unpicked struct{ Kind string }
	// Examine asks for the details of an item. The program answers with Examined.
	Examine struct{ Kind, Value string }
	// Rename gives an item another name. The program answers with Renewed.
	Rename struct{ Kind, Value, Name string }
	// Erase deletes an item. The program answers with Renewed.
	Erase struct{ Kind, Value string }
	// Widen asks for more items, or for fewer again. The program answers with Renewed.
	Widen struct{ Kind string }
	// Suggest asks for the prompt that may come next. The program answers with Suggested.
	Suggest struct{}
	// Unsuggest means that the person writes: no suggestion is needed any more.
	Unsuggest struct{}
	// HangUp means that nobody answers questions any more.
	HangUp struct{}
	// Notify tells a person who looks elsewhere.
	Notify struct{ Text string }
)

func (Send) action()        {}
func (TakeBack) action()    {}
func (Interrupt) action()   {}
func (Leave) action()       {}
func (Suspend) action()     {}
func (Repaint) action()     {}
func (ShowWhole) action()   {}
func (ShowTimes) action()   {}
func (Command) action()     {}
func (Shell) action()       {}
func (AddNote) action()     {}
func (Decide) action()      {}
func (Reply) action()       {}
func (ListFiles) action()   {}
func (SaveDraft) action()   {}
func (Remember) action()    {}
func (EditOutside) action() {}
func (LoadImage) action()   {}
func (CycleMode) action()   {}
func (Picked) action()      {}
func (Unpicked) action()    {}
func (Examine) action()     {}
func (Rename) action()      {}
func (Erase) action()       {}
func (Widen) action()       {}
func (Suggest) action()     {}
func (Unsuggest) action()   {}
func (HangUp) action()      {}
func (Notify) action()      {}

// A Message is a text for the agent.
type Message struct {
	N      int // number of the message in this program
	Text   string
	Images []string // paths
	Steer  bool     // for the running prompt; else it begins a run
	asked  bool     // the program was asked to take it back
}

// A Decision answers a permission question.
type Decision struct {
	Allow  bool
	Later  bool   // the run stops, and the question is asked again
	Reason string // of a denial
	Keep   bool   // keep the rules of a width, with Allow
	Width  int    // index in Question.Widths
	Scope  string // where they are kept: session, project or user
	Edited string // the changed command, with Allow; "": unchanged
}

// An Answer answers a question of a tool.
type Answer struct {
	Chosen []int // indices of options
	Text   string
}
