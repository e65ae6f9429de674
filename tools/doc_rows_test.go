package tools_test

// A toolRow is what docs/tools.md says of a tool beyond its Spec.
type toolRow struct {
	calls  []string // inputs that show what its calls may do
	limits string   // with marks for constants, see (*doc).fill
	tests  []string
}

// toolStates are where calls are made that need a state of the session: in a
// folder below the root. ROOT in a state stands for the root.
var toolStates = map[string]struct{ folder, state string }{
	"ExitWorktree": {".openagent/worktrees/a", `{"current":{"name":"a","path":"ROOT/.openagent/worktrees/a","branch":"worktree-a","from":"ROOT"}}`},
}

var toolRows = map[string]toolRow{
	// Core.
	"Read": {[]string{`{"file_path":"a.txt"}`},
		"{n tools.maxReadLines} lines of {n tools.maxLineWidth} characters, {size tools.maxReadBytes}; files that are to be changed {size tools.maxFile}; folders {n tools.maxEntries} of {n tools.maxFolder} entries; " +
			"images {n media.maxSide} pixels a side, {size media.maxImage}, {n media.maxPixels} pixels as they are; PDF {size media.maxPDF}, {n media.maxPDFPages} pages; " +
			"notebooks {size tools.maxOutput} an output, {n tools.maxNotebookImages} images",
		[]string{"TestReadText", "TestReadLimits", "TestReadImages", "TestReadPDF", "TestReadNotebook"}},
	"Write": {[]string{`{"file_path":"a.txt","content":""}`}, "file {size workspace.maxFile}; diff {size tools.maxDiff}, by lines up to {size tools.maxCompared}",
		[]string{"TestWriteNewFile", "TestMustHaveBeenRead", "TestWriteOutside", "TestWriteKeepsEncoding"}},
	"Edit": {[]string{`{"file_path":"a.txt","old_string":"a","new_string":"b"}`}, "file {size workspace.maxFile}; {n tools.maxSpans} places; diff {size tools.maxDiff}",
		[]string{"TestEditMatching", "TestEditSuggests", "TestEditResult", "TestEditsOfOneFile"}},
	"Glob": {[]string{`{"pattern":"**/*.go"}`}, "{n tools.maxPaths} paths", []string{"TestGlob", "TestGlobOutside", "TestSearchHides", "TestSearchCancelled"}},
	"Grep": {[]string{`{"pattern":"a"}`}, "{n tools.defaultHead} lines or files by default, {n tools.maxHead} at most; {n tools.maxAround} lines around; {size tools.maxGrepBytes}",
		[]string{"TestGrep", "TestGrepInput", "TestGrepOutsideDir", "TestRipgrep"}},
	"Bash": {[]string{`{"command":"make"}`},
		"{ms tools.defaultTimeout} by default, {ms tools.maxTimeout} at most; {n workspace.outputLimit} characters of output shown, {size workspace.spillLimit} kept; {n workspace.maxJobs} background commands at a time",
		[]string{"TestBash", "TestBashTimeout", "TestBashInterrupted", "TestBashLongOutput", "TestBackground"}},
	"BashOutput": {[]string{`{"bash_id":"bash_1"}`}, "filter {size tools.maxFilter}; {ms tools.maxTimeout} of waiting; {n workspace.keptJobs} commands that have ended are remembered", []string{"TestBackground"}},
	"KillShell":  {[]string{`{"shell_id":"bash_1"}`}, "", []string{"TestBackground"}},
	"AskUser":    {[]string{`{"questions":[{"question":"?"}]}`}, "{n tools.maxQuestions} questions of {n tools.maxOptions} options", []string{"TestAskUser"}},
	"ToolSearch": {[]string{`{"query":"issues"}`}, "{n tools.defaultFound} tools by default, {n tools.maxFound} at most; {n tools.maxListed} names of {n tools.maxListedBytes} bytes in its text, those of a server as one where they are more", []string{"TestToolSearch"}},
	"WebFetch": {[]string{`{"url":"https://example.com/"}`},
		"{time tools.fetchTime}; {size tools.maxPage} of a page; {n tools.maxHops} redirects; pages kept {time tools.keepPages}, {size tools.cachedPages}; {size tools.maxRefusalText} of an error's page, of which {size tools.maxRefusal} are read",
		[]string{"TestWebFetchPage", "TestWebFetchRedirects", "TestWebFetchPrivate", "TestWebFetchLimits", "TestWebFetchTime"}},
	"WebSearch": {[]string{`{"query":"go"}`}, "query {size tools.maxQuery}; {n tools.maxDomains} domains; {n web.MaxHits} results", []string{"TestWebSearch", "TestWebSearchErrors"}},

	// Advanced.
	"Agent": {[]string{`{"prompt":"p","description":"d","subagent_type":"general-purpose"}`}, "prompt {size tools.maxAgentPrompt}; {n tools.maxAgentTypes} types listed, {size tools.maxAgentTypeText} of each",
		[]string{"TestAgentTool", "TestAgentToolRefuses", "TestAgentToolCancelled", "TestAgentToolClass"}},
	"Skill": {[]string{`{"skill":"review"}`}, "list {size tools.maxSkillList}; {n tools.maxSkillDepth} within each other; {n tools.maxSkillsFound} found at once", []string{"TestSkill", "TestSkillClass", "TestSkillListBudget"}},
	"TaskCreate": {[]string{`{"subject":"s"}`}, "{n team.MaxTasks} tasks; subject {size team.MaxSubject}, description {size team.MaxDescription}, metadata {size team.MaxMetadata}; {n team.MaxDependencies} dependencies",
		[]string{"TestTaskTools", "TestTaskToolsRefuse", "TestTeamworkRun"}},
	"TaskGet":    {[]string{`{"id":"task_1"}`}, "", []string{"TestTaskTools", "TestTaskBackground"}},
	"TaskList":   {[]string{`{}`}, "{n tools.maxListedTasks} tasks shown", []string{"TestTaskTools", "TestTaskListBounded"}},
	"TaskOutput": {[]string{`{"id":"task_1"}`}, "{ms tools.maxTimeout} of waiting", []string{"TestTaskTools", "TestTaskBackground"}},
	"TaskStop":   {[]string{`{"id":"task_1"}`}, "", []string{"TestTaskTools", "TestTaskBackground"}},
	"TaskUpdate": {[]string{`{"id":"task_1","status":"in_progress"}`}, "output {size team.MaxOutput}; else as TaskCreate", []string{"TestTaskTools", "TestTaskUpdateClaims", "TestTaskToolsRefuse"}},
	"SendMessage": {[]string{`{"to":"a","message":"m"}`}, "message {size team.MaxMessage}; a mailbox {n team.MaxBox} messages, {size team.MaxBoxBytes}",
		[]string{"TestTeamTools", "TestSendMessagePartly", "TestSendMessageOnce"}},
	"TeamCreate":   {[]string{`{"name":"a"}`}, "{n team.MaxTeams} teams of {n team.MaxMembers} members; name {n team.MaxName} characters; {size team.MaxTeamTask} of what it is for", []string{"TestTeamTools"}},
	"TeamDelete":   {[]string{`{"id":"a"}`}, "", []string{"TestTeamTools"}},
	"NotebookEdit": {[]string{`{"file_path":"a.ipynb","command":"delete","cell_number":0}`}, "file {size workspace.maxFile}", []string{"TestNotebookEdit", "TestNotebookEditFamiliar", "TestNotebookEditRefuses", "TestNotebookEditLarge"}},

	// Specialist.
	"CronCreate": {[]string{`{"name":"a","schedule":"@daily","prompt":"p"}`, `{"name":"a","schedule":"@daily","command":"make"}`}, "{n cron.MaxJobs} jobs; name {n cron.MaxName} characters; prompt or command {size cron.MaxText}",
		[]string{"TestCronTools", "TestCronCreateErrors", "TestCronClass", "TestCronCancelled"}},
	"CronDelete": {[]string{`{"id":"a"}`}, "", []string{"TestCronTools", "TestCronTogether"}},
	"CronList":   {[]string{`{}`}, "{n tools.maxCronShown} jobs, {n tools.maxCronText} characters of each text", []string{"TestCronTools", "TestCronMany"}},
	"LSP": {[]string{`{"operation":"documentSymbol","file_path":"a.txt"}`, `{"operation":"hover","file_path":"a.go","line":1,"query":"a"}`},
		"{time tools.questionTime} for a question; {n tools.maxAnswers} results; query and new name {size tools.maxName}; hover {n tools.maxHover} characters; rename {size tools.maxPreview} of diff; {n tools.maxServers} servers, each restarted after up to {n tools.maxCrashes} crashes",
		[]string{"TestLSPWithGopls", "TestLSPWithTypeScript", "TestLSPWithoutServer", "TestLSPServerIsKilled", "TestWithDiagnostics"}},
	"Config": {[]string{`{"action":"list"}`, `{"action":"set","key":"a","value":1}`}, "value {size tools.maxSetting}; file {size toolapi.MaxSettingsFile}; {size tools.maxShownSetting} of a value in lists; {n tools.maxListedSettings} keys in its text",
		[]string{"TestConfig", "TestConfigPermission", "TestSettingsPrecedence"}},
	"TodoWrite":     {[]string{`{"action":"add","text":"t"}`}, "{n tools.maxTodos} items; {n tools.maxTodoText} characters of each, {n tools.maxTodoID} of an id", []string{"TestTodos", "TestTodosAreBounded", "TestTodosInARun"}},
	"EnterPlanMode": {[]string{`{}`}, "", []string{"TestPlanMode", "TestPlanModeInOneAnswer"}},
	"ExitPlanMode":  {[]string{`{"plan":"p"}`}, "plan {size tools.maxPlan}", []string{"TestPlanMode", "TestPlanModeDenied", "TestPlanModeRefusals"}},
	"EnterWorktree": {[]string{`{"name":"a"}`}, "name {n gitworktree.maxWorktreeName} characters; {size gitworktree.maxGitOutput} of what git prints", []string{"TestWorktreeEnterAndKeep", "TestWorktreeName", "TestWorktreeCancelled", "TestWorktreeSession"}},
	"ExitWorktree": {[]string{`{}`, `{"action":"remove"}`}, "{n gitworktree.maxLosses} losses listed",
		[]string{"TestWorktreeEnterAndKeep", "TestWorktreeRemoveLosesNothing", "TestWorktreeSession"}},
	"RemoteTrigger": {[]string{`{"action":"list"}`, `{"action":"create","name":"a","prompt":"p"}`}, "{n tools.maxTriggers} triggers made by a model; prompt {size trigger.maxPrompt}; payload {size tools.maxPayload}; {size tools.maxReply} of an answer",
		[]string{"TestRemoteTriggerBothSides", "TestRemoteTriggerRefusals", "TestRemoteTriggerClass"}},
	"ListMcpResources": {[]string{`{}`}, "{n tools.maxResources} resources, {size tools.maxResourceLine} of each part of a line", []string{"TestListMcpResources", "TestListMcpResourcesHostile", "TestListMcpResourcesMany"}},
	"ReadMcpResource": {[]string{`{"server":"s","uri":"u"}`}, "URI {size tools.maxURI}; {n tools.maxContents} parts, {size tools.maxContentText} of text, {n tools.maxImages} images of {size tools.maxBlob}",
		[]string{"TestReadMcpResource", "TestMcpResourcesClass"}},

	// Extra.
	"MultiEdit": {[]string{`{"file_path":"a.txt","edits":[{"old_string":"a","new_string":"b"}]}`}, "{n tools.maxEdits} edits; else as Edit", []string{"TestMultiEdit", "TestMultiEditMatching", "TestMultiEditCancelled"}},
	"ApplyPatch": {[]string{"{\"input\":\"*** Begin Patch\\n*** Add File: a\\n+a\\n*** End Patch\"}"}, "files {size workspace.maxFile} each, {size workspace.maxTotal} together; {n tools.maxPatchLines} lines of a file that is changed; {n tools.maxProblems} wrong files named",
		[]string{"TestApplyPatch", "TestApplyPatchRollsBack", "TestApplyPatchCancelled", "TestApplyPatchLarge"}},
	"CodeSearch": {[]string{`{"query":"a"}`}, "{n tools.defaultHits} results by default; query {size tools.maxCodeQuery}, {n tools.maxQueryWords} words; {time tools.codeSearchTime}; {n tools.maxHitText} characters of a line",
		[]string{"TestCodeSearch", "TestCodeSearchLarge", "TestCodeSearchHere", "TestCodeSearchFollowsNoLinks"}},
	"TodoRead":           {[]string{`{}`}, "", []string{"TestTodos", "TestTodosInARun"}},
	"Batch":              {nil, "{n engine.maxBatch} calls, none of them a batch", []string{"TestBatch", "TestBatchCut"}},
	"PauseForHuman":      {[]string{`{"reason":"r"}`}, "reason {size tools.maxReason}", []string{"TestPauseForHuman"}},
	"attempt_completion": {[]string{`{"result":"r"}`}, "", []string{"TestAttemptCompletion"}},
}

// quietLimits are bounds that users do not notice: the part cut off is not shown anyway, or
// they guard only against hostile input.
const quietLimits = `maxPromptLine maxSteps maxRegions maxShown maxWidth maxSearch maxPatchSteps maxCandidates maxDefinitions maxBatchLines
	maxCallLines maxShownBytes maxMessage maxHierarchy maxDiagnosed maxErrors maxSource maxWatched maxPatched maxHeld`
