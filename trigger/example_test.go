package trigger_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/openagent-go/agent/trigger"
)

// A server with one trigger, and a client that starts it. The secret is replaced while both
// sides run.
func Example() {
	ctx := context.Background()
	store := trigger.Memory()
	ran := make(chan string)
	h := &trigger.Handler{Store: store, Run: func(_ context.Context, t trigger.Trigger, run string, body []byte) error {
		ran <- fmt.Sprintf("%s %s", t.Prompt, body)
		return nil
	}}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()

	t, err := store.Put(ctx, trigger.Trigger{Name: "build", Prompt: "Build and test.", Enabled: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	secrets, err := store.Secrets(ctx, t.ID)
	if err != nil {
		fmt.Println(err)
		return
	}

	client := &trigger.Client{AllowPrivate: true} // the server is on this machine
	run, err := client.Send(ctx, server.URL+"/triggers/"+t.ID, secrets[0], []byte(`{"payload":"v1.2"}`))
	fmt.Println(run != "", err)
	fmt.Println(<-ran)

	old, next := secrets[0], trigger.NewSecret()
	if err := store.SetSecrets(ctx, t.ID, next, old); err != nil { // later: next alone
		fmt.Println(err)
		return
	}
	for _, s := range []string{old, next} {
		_, err = client.Send(ctx, server.URL+"/triggers/"+t.ID, s, nil)
		fmt.Println(err)
		<-ran
	}
	// Output:
	// true <nil>
	// Build and test. {"payload":"v1.2"}
	// <nil>
	// <nil>
}
