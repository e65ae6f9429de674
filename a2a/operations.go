package a2aagent

import (
	"context"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// operations implements [a2asrv.RequestHandler] with the API of the server.
type operations struct{ h *Handler }

var _ a2asrv.RequestHandler = (*operations)(nil)

// caller returns who sends a request.
func (o *operations) caller(ctx context.Context) (*caller, error) {
	c, ok := ctx.Value(callerKey{}).(*caller)
	if !ok {
		return nil, a2a.ErrUnauthenticated
	}
	if call, ok := a2asrv.CallContextFrom(ctx); ok {
		if v, ok := call.ServiceParams().Get(a2a.SvcParamVersion); ok && len(v) > 0 && v[0] != "" && v[0] != string(a2a.Version) {
			return nil, a2a.NewError(a2a.ErrVersionNotSupported, "the agent speaks version "+string(a2a.Version)+" of the protocol")
		}
	}
	return c, nil
}

// GetTask implements [a2asrv.RequestHandler].
func (o *operations) GetTask(ctx context.Context, in *a2a.GetTaskRequest) (*a2a.Task, error) {
	c, err := o.caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkHistory(in.HistoryLength); err != nil {
		return nil, err
	}
	t, err := c.find(ctx, in.ID)
	if err != nil {
		return nil, protocolError(ctx, err)
	}
	return c.shown(ctx, t, in.HistoryLength)
}

// CancelTask implements [a2asrv.RequestHandler].
func (o *operations) CancelTask(ctx context.Context, in *a2a.CancelTaskRequest) (*a2a.Task, error) {
	c, err := o.caller(ctx)
	if err != nil {
		return nil, err
	}
	t, err := c.find(ctx, in.ID)
	if err != nil {
		return nil, protocolError(ctx, err)
	}
	if !t.ended() {
		closed, err := c.interrupt(ctx, t)
		if err != nil {
			return nil, protocolError(ctx, err)
		}
		for _, err := range c.follow(ctx, t, closed) {
			if err != nil {
				return nil, protocolError(ctx, err)
			}
		}
		return c.shown(ctx, t, nil)
	}
	if t.status(nil).State != a2a.TaskStateCanceled {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, "the task has ended")
	}
	return c.shown(ctx, t, nil)
}

// SendMessage implements [a2asrv.RequestHandler].
func (o *operations) SendMessage(ctx context.Context, in *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	c, err := o.caller(ctx)
	if err != nil {
		return nil, err
	}
	t, answered, err := o.send(ctx, c, in)
	if err != nil {
		return nil, protocolError(ctx, err)
	}
	var length *int
	if in.Config != nil {
		length = in.Config.HistoryLength
	}
	if in.Config == nil || !in.Config.ReturnImmediately {
		for _, err := range c.follow(ctx, t, answered) {
			if err == nil {
				continue
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			break // the message is on record: the client can ask for the task later
		}
	}
	return c.shown(ctx, t, length)
}

// SendStreamingMessage implements [a2asrv.RequestHandler].
func (o *operations) SendStreamingMessage(ctx context.Context, in *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		c, err := o.caller(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		t, answered, err := o.send(ctx, c, in)
		if err != nil {
			yield(nil, protocolError(ctx, err))
			return
		}
		c.tell(ctx, t, answered, yield)
	}
}

// SubscribeToTask implements [a2asrv.RequestHandler].
func (o *operations) SubscribeToTask(ctx context.Context, in *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		c, err := o.caller(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		t, err := c.find(ctx, in.ID)
		if err == nil && t.ended() {
			err = a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended: get it instead")
		}
		if err != nil {
			yield(nil, protocolError(ctx, err))
			return
		}
		c.tell(ctx, t, nil, yield)
	}
}

// GetTaskPushConfig implements [a2asrv.RequestHandler].
func (o *operations) GetTaskPushConfig(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// ListTaskPushConfigs implements [a2asrv.RequestHandler].
func (o *operations) ListTaskPushConfigs(context.Context, *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// CreateTaskPushConfig implements [a2asrv.RequestHandler].
func (o *operations) CreateTaskPushConfig(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

// DeleteTaskPushConfig implements [a2asrv.RequestHandler].
func (o *operations) DeleteTaskPushConfig(context.Context, *a2a.DeleteTaskPushConfigRequest) error {
	return a2a.ErrPushNotificationNotSupported
}

// GetExtendedAgentCard implements [a2asrv.RequestHandler].
func (o *operations) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the agent has one card only")
}

// ended reports whether a task is over.
func (t *task) ended() bool { return t.end != nil || t.over }
