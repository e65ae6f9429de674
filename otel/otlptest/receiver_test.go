package otlptest

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metriccollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A receiver takes what an exporter sends by OTLP over HTTP, as a collector does
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp), and keeps it.
type receiver struct {
	*httptest.Server
	t *testing.T

	mu      sync.Mutex
	spans   []*trace.Span
	metrics map[string]*metrics.Metric // the last of each name
	raw     []byte                     // all that was sent
	service string                     // of the resource of what came last
	scope   string
}

func receive(t *testing.T) *receiver {
	r := &receiver{t: t, metrics: map[string]*metrics.Metric{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, req *http.Request) {
		var in tracecollector.ExportTraceServiceRequest
		r.take(w, req, &in, &tracecollector.ExportTraceServiceResponse{})
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, rs := range in.ResourceSpans {
			r.service = value(rs.Resource.Attributes, "service.name").GetStringValue()
			for _, ss := range rs.ScopeSpans {
				r.scope = ss.Scope.Name
				r.spans = append(r.spans, ss.Spans...)
			}
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, req *http.Request) {
		var in metriccollector.ExportMetricsServiceRequest
		r.take(w, req, &in, &metriccollector.ExportMetricsServiceResponse{})
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, rm := range in.ResourceMetrics {
			for _, sm := range rm.ScopeMetrics {
				for _, m := range sm.Metrics {
					r.metrics[m.Name] = m
				}
			}
		}
	})
	mux.HandleFunc("/", func(_ http.ResponseWriter, req *http.Request) { t.Errorf("%s %s", req.Method, req.URL) })
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	return r
}

// take reads a message and answers it.
func (r *receiver) take(w http.ResponseWriter, req *http.Request, in, out proto.Message) {
	var body io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(req.Body)
		if err != nil {
			r.t.Error(err)
			return
		}
		body = z
	}
	data, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(data, in)
	}
	if err != nil || req.Header.Get("Content-Type") != "application/x-protobuf" {
		r.t.Errorf("%s: %v", req.Header.Get("Content-Type"), err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.raw = append(r.raw, data...)
	r.mu.Unlock()
	answer, _ := proto.Marshal(out)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

func value(attrs []*common.KeyValue, key string) *common.AnyValue {
	for _, kv := range attrs {
		if kv.Key == key {
			return kv.Value
		}
	}
	return nil
}
