// Package report shows what an evaluation found: as text, as a page of HTML, as JUnit XML and
// as figures in JSON. It also compares two reports.
//
//	r, err := report.Load("results/report.json")
//	…
//	err = report.Text(os.Stdout, r)
//
// Pass rates come with an interval that holds the true rate with 95 % confidence. A difference
// comes with such an interval too, and with the probability of one as large if nothing had changed.
//
// Answers, details and names may come from a model or a tool. They can neither run anything in
// a result nor drive a terminal, and secrets of the environment become ***.
package report
