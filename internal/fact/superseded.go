package fact

// Superseded is the message of a [Stopped] that a new prompt made: the run before had no end.
const Superseded = "interrupted; a new prompt followed"
