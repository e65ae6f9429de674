package serve

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	maxQueue   = 256 << 10        // bytes that wait for a viewer
	pingEvery  = 10 * time.Second // so that a page notices a dead connection
	writeLimit = 30 * time.Second // for one write to a client
)

// A viewer is one stream. What comes for it waits in a queue. It never holds up the one who puts.
type viewer struct {
	wake chan struct{} // has room for one

	mu    sync.Mutex
	queue []frame
	bytes int
	lags  bool   // frames were dropped: it reads again what it lacks
	gone  string // why the stream ends; "": it does not
}

func newViewer() *viewer { return &viewer{wake: make(chan struct{}, 1)} }

// put adds a frame. If the queue is full, it drops all of it.
func (v *viewer) put(f frame) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lags || v.denied() {
		return
	}
	if v.bytes+len(f.data) > maxQueue && len(v.queue) > 0 {
		v.queue, v.bytes, v.lags = nil, 0, true
	} else {
		v.queue, v.bytes = append(v.queue, f), v.bytes+len(f.data)
	}
	v.tell()
}

// drop makes the viewer read again what it lacks.
func (v *viewer) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.queue, v.bytes, v.lags = nil, 0, true
	v.tell()
}

// clear forgets what waits.
func (v *viewer) clear() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.queue, v.bytes, v.lags = nil, 0, false
}

// end ends the stream after what waits, and at once if the viewer may not see it any more.
func (v *viewer) end(reason string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone == "" {
		v.gone = reason
	}
	if v.denied() {
		v.queue, v.bytes = nil, 0
	}
	v.tell()
}

// denied reports whether the viewer may not see what it watches any more. It is called with the lock.
func (v *viewer) denied() bool { return v.gone == "revoked" || v.gone == "expired" }

func (v *viewer) tell() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// take returns what waits.
func (v *viewer) take() (frames []frame, lags bool, gone string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	frames, v.queue, v.bytes = v.queue, nil, 0
	return frames, v.lags, v.gone
}

// A stream writes frames to a client.
type stream struct {
	w    http.ResponseWriter
	out  *http.ResponseController
	sent int64 // number of the last fact that was written, or that the client had
}

// newStream answers a request with a stream.
func newStream(w http.ResponseWriter, after int64) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not hold it back
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // a ReadTimeout of the server would end the stream
	w.WriteHeader(http.StatusOK)
	return &stream{w, out, after}
}

// write writes a frame.
func (s *stream) write(f frame) error {
	if f.seq > 0 && f.seq <= s.sent { // it came from the store
		return nil
	}
	if _, err := s.w.Write(f.data); err != nil {
		return err
	}
	s.sent = max(s.sent, f.seq)
	return nil
}

func (s *stream) flush() error { return s.out.Flush() }

// pump writes what comes for a viewer, until it lags (nil), its stream ends or ctx ends.
func (s *stream) pump(ctx context.Context, v *viewer) (over bool, err error) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		frames, lags, gone := v.take()
		for _, f := range frames {
			if err := s.write(f); err != nil {
				return true, err
			}
		}
		if lags && gone == "" {
			return false, nil
		}
		if gone != "" {
			_ = s.write(jsonFrame("gone", map[string]string{"reason": gone}))
			return true, s.flush()
		}
		if err := s.flush(); err != nil {
			return true, err
		}
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case <-v.wake:
		case <-ping.C:
			if err := s.write(jsonFrame("ping", map[string]int64{"seq": s.sent})); err != nil {
				return true, err
			}
		}
	}
}
