package tools

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed enterplanmode.md
var enterPlanModeText string

//go:embed exitplanmode.md
var exitPlanModeText string

const (
	// planState is the slot of the session's state that says which mode comes after
	// plan mode.
	planState = "plan"
	// maxPlan is the length in bytes of the longest plan: a person has to read it.
	maxPlan = 64 << 10
)

// A planning is the mode before plan mode, in the state of a session.
type planning struct {
	Before permission.Mode `json:"before"`
	By     string          `json:"by"` // which pair of tools remembered it
}

// planDetails are the Details of an approved plan.
type planDetails struct {
	Plan string          `json:"plan"`
	Mode permission.Mode `json:"mode"` // from now on
}

type exitPlanModeInput struct {
	Plan string `json:"plan"`
}

// PlanMode returns the tools EnterPlanMode and ExitPlanMode. The first switches
// to [permission.Plan] and remembers the mode before; the second asks a person
// about a plan, whatever the mode, and switches back once it is approved.
//
// What was remembered by another pair, as in a session resumed by another
// program, counts only where it allows no more than [permission.Default], which
// is also where a run continues that began in plan mode: nothing that the model
// does gives a session a mode that its present host has not set.
func PlanMode() (enter, exit tool.Tool) {
	p := planner{id: rand.Text()}
	enter = tool.New(tool.Spec{
		Name: "EnterPlanMode", Title: "Enter plan mode", Description: enterPlanModeText,
		NonDestructive: true, Idempotent: true, Barrier: true, State: planState,
	}, func(_ context.Context, call tool.Call, _ struct{}) (*tool.Result, error) {
		return p.enter(call), nil
	}).OnClassify(func(tool.Call, struct{}) tool.Traits { return tool.Traits{Internal: true} })
	exit = tool.New(tool.Spec{
		Name: "ExitPlanMode", Title: "Approve the plan", Description: exitPlanModeText,
		ReadOnly: true, NonDestructive: true, Idempotent: true, Barrier: true, State: planState,
	}, func(_ context.Context, call tool.Call, in exitPlanModeInput) (*tool.Result, error) {
		return p.exit(call, in.Plan), nil
	}).OnClassify(func(call tool.Call, in exitPlanModeInput) tool.Traits {
		c := tool.Traits{ReadOnly: true}
		switch {
		case checkPlan(in.Plan) != "": // the call fails in any mode
		case call.Mode == permission.Plan:
			c.ConfirmReason = fmt.Sprintf("approve the plan; then the mode is %s", p.after(call))
		default: // the mode may still change before the call runs
			c.ConfirmReason = "the run is not in plan mode, so there is no plan to approve"
		}
		return c
	}).OnPreview(func(call tool.Call, in exitPlanModeInput) string {
		if checkPlan(in.Plan) != "" {
			return ""
		}
		return in.Plan
	})
	return enter, exit
}

// A planner is the common part of a pair of tools.
type planner struct{ id string }

func (p planner) enter(call tool.Call) *tool.Result {
	if call.Mode == permission.Plan {
		return tool.Errorf("The run is in plan mode already. Put the plan before the user with ExitPlanMode.")
	}
	r := tool.Text("Plan mode: look and read, change nothing. When the plan is ready, put it before the user with ExitPlanMode.")
	r.Title = "Plan mode"
	r.Details = toolapi.Details(map[string]permission.Mode{"mode": permission.Plan})
	r.Patch.Mode = permission.Plan
	r.Patch.State = toolapi.Details(planning{Before: cmp.Or(call.Mode, permission.Default), By: p.id})
	return r
}

func (p planner) exit(call tool.Call, plan string) *tool.Result {
	if call.Mode != permission.Plan {
		return tool.Errorf("The run is not in plan mode, so there is nothing to leave. Go on with the work.")
	}
	if problem := checkPlan(plan); problem != "" {
		return tool.Errorf("%s", problem)
	}
	mode := p.after(call)
	r := tool.Text(fmt.Sprintf("The plan is approved. The permission mode is %s now. Carry the plan out.", mode))
	r.Title = "Plan approved"
	r.Details = toolapi.Details(planDetails{Plan: plan, Mode: mode})
	r.Patch.Mode = mode
	r.Patch.State = json.RawMessage(`{"before":null,"by":null}`)
	return r
}

// after is the mode that follows plan mode.
func (p planner) after(call tool.Call) permission.Mode {
	var s planning
	if len(call.State) == 0 || json.Unmarshal(call.State, &s) != nil {
		return permission.Default
	}
	mode, err := permission.ParseMode(string(s.Before))
	switch {
	case err != nil, mode == permission.Plan:
		return permission.Default
	case s.By == p.id, mode == permission.DontAsk:
		return mode
	}
	return permission.Default
}

func checkPlan(plan string) (problem string) {
	switch {
	case strings.TrimSpace(plan) == "":
		return "plan is empty; write down what you are going to do"
	case len(plan) > maxPlan:
		return fmt.Sprintf("plan has %d bytes; make it shorter than %d, so that a person can read it", len(plan), maxPlan)
	}
	return ""
}
