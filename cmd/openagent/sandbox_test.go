package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// fetch is a program that asks the proxy that it is told of for a URL, whatever
// the host is, and shows the answer.
func fetch() {
	show := func() error {
		client := &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
			if p := os.Getenv("HTTP_PROXY"); p != "" {
				return url.Parse(p)
			}
			return nil, errors.New("there is no HTTP_PROXY")
		}}}
		res, err := client.Get(os.Args[1])
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		fmt.Printf("status %d: %s\n", res.StatusCode, body)
		return err
	}
	if err := show(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func cmdWeb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: web NAME")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.Listener.Addr().String())
}
