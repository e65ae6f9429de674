package tool

// An Output bounds the text that a tool's result puts before the model. The
// zero value is the policy that every tool is under.
type Output struct {
	Lines int    // 0: 2000; negative: any number
	Bytes int    // 0: 50 KB; negative: any number
	Dir   string // where longer texts are kept; "" is a folder of the user in [os.TempDir]
}
