// Package eval says how good an agent is: it runs cases, lets graders look at what came out,
// and counts. Two reports show whether a change of prompt, model or memory made it better.
//
//	suite, err := eval.Load("evals")
//	if err != nil {
//		return err
//	}
//	e := eval.Evaluation{Suite: suite, Dir: "results", Variants: []eval.Variant{{
//		Name: "sonnet",
//		Open: func(ctx context.Context, p *eval.Place) (*agent.Agent, error) {
//			c, err := coder.New(ctx, coder.Options{Dir: p.Dir, Model: "anthropic/claude-sonnet-4-6"})
//			if err != nil {
//				return nil, err
//			}
//			p.Cleanup(c.Close)
//			return c.Agent, nil
//		},
//	}}}
//	report, err := e.Run(ctx)
//
// Each trial has a folder of its own and a new session. A suite's commands, of setups and of
// graders, are programs that run on your machine, in a sandbox: run only suites that you trust.
package eval
