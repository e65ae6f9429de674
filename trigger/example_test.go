package trigger_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/openagent-go/agent/trigger"
)

// A server with one trigger, and a client that starts it. The secret is replaced while both
// sides run.
func Example() {
	ctx := context.Background()
	store := new(trigger.Memory)
	ran := make(chan string)
	h := &trigger.Handler{Store: store, Run: func(_ context.Context, t trigger.Trigger, p trigger.Payload) error {
		ran <- fmt.Sprintf("%s %s", t.Prompt, p.Data)
		return nil
	}}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()

	id, secret := trigger.NewID(), trigger.NewSecret()
	err := store.Update(ctx, id, func(*trigger.Record) (*trigger.Record, error) {
		t := trigger.Trigger{ID: id, Name: "build", Prompt: "Build and test.", Enabled: true, Created: time.Now()}
		return &trigger.Record{Trigger: t, Secrets: []trigger.Secret{secret}}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	client := &trigger.Client{AllowPrivate: true} // the server is on this machine
	a, err := client.Send(ctx, server.URL+"/triggers/"+id, secret, []byte(`{"payload":"v1.2"}`))
	fmt.Println(a.Status, err)
	fmt.Println(<-ran)

	next := trigger.NewSecret()
	rotate := func(r *trigger.Record) (*trigger.Record, error) {
		r.Secrets = []trigger.Secret{next, secret} // later: next alone
		return r, nil
	}
	if err := store.Update(ctx, id, rotate); err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range []trigger.Secret{secret, next} {
		a, err = client.Send(ctx, server.URL+"/triggers/"+id, s, nil)
		fmt.Println(a.Status, err)
		<-ran
	}
	// Output:
	// 202 <nil>
	// Build and test. {"payload":"v1.2"}
	// 202 <nil>
	// 202 <nil>
}
