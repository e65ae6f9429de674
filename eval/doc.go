// Package eval says how good an agent is: it runs cases, lets graders look at what came out,
// and counts. Two reports show whether a change of prompt, model or memory made it better.
package eval
