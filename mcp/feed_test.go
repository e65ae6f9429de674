package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// connected is a feed with the pipe that it writes, and returns our end of it.
func connected(t *testing.T, size int) (f *feed, reader *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f = newFeed(size)
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer writer.Close()
		_, _ = io.Copy(writer, f) // as package workspace does
	}()
	f.offer([]byte("hello\n")) // is queued before WriteTo knows the pipe
	if line, err := bufio.NewReaderSize(reader, 16).ReadString('\n'); err != nil || line != "hello\n" {
		t.Fatalf("%q %v", line, err)
	}
	for f.waiting() > 0 { // the goroutine has written, and not yet said so
		runtime.Gosched()
	}
	t.Cleanup(func() {
		_, _ = f.Close(), reader.Close()
		<-written
	})
	return f, reader
}

func (f *feed) waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.behind
}

// Who sends a message writes it: no other goroutine has to run before the server has it.
func TestMessagesAreWrittenAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes cannot be written without waiting")
	}
	f, reader := connected(t, 4)
	for i := range 3 {
		text := fmt.Sprintf("message %d\n", i)
		if !f.write([]byte(text)) {
			t.Fatal("it was not written at once")
		}
		b := make([]byte, len(text))
		if _, err := io.ReadFull(reader, b); err != nil || string(b) != text {
			t.Errorf("%q %v", b, err)
		}
	}
}

// A server that does not read holds up nobody until the queue is full. Later it gets each
// message whole, those of a sender in its order, and none that was given up.
func TestMessagesStayInOrder(t *testing.T) {
	f, reader := connected(t, 4)
	large := strings.Repeat("x", 1<<20) // more than a pipe holds
	if err := f.send(t.Context(), []byte("first "+large+"\n"), nil); err != nil {
		t.Fatal(err)
	}
	for range cap(f.queue) + 3 {
		f.offer([]byte("offered\n"))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.send(gone, []byte("given up\n"), nil); err == nil {
		t.Fatal("it was queued although the queue is full")
	}
	const senders, each = 4, 50
	var all sync.WaitGroup
	for s := range senders {
		all.Go(func() {
			for i := range each {
				text := fmt.Sprintf("%d %d %s\n", s, i, large[:i*i*7])
				if err := f.send(t.Context(), []byte(text), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		all.Wait()
		_ = f.Close()
	}()
	got, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(got, []byte("\n")), []byte("\n"))
	if string(lines[0]) != "first "+large {
		t.Errorf("the first message is %d bytes", len(lines[0]))
	}
	next, offered := make([]int, senders), 0
	for _, line := range lines[1:] {
		var s, i int
		if string(line) == "offered" {
			offered++
		} else if _, err := fmt.Sscan(string(line), &s, &i); err != nil || s >= senders || next[s] != i || len(line) != len(fmt.Sprintf("%d %d ", s, i))+i*i*7 {
			t.Fatalf("%.80q", line)
		} else {
			next[s]++
		}
	}
	for s, n := range next {
		if n != each {
			t.Errorf("sender %d: %d messages", s, n)
		}
	}
	if offered != cap(f.queue) && offered != cap(f.queue)+1 { // WriteTo may hold one
		t.Errorf("%d of the offered messages came", offered)
	}
	if n := f.waiting(); n != 0 {
		t.Errorf("%d messages are still counted", n)
	}
}
