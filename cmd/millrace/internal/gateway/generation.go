package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/millrace-go/millrace/metrics"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
	"github.com/millrace-go/millrace/queue/token"
	"github.com/millrace-go/millrace/ratelimit/keyed"
)

// generation is all that settings make, besides the store and the listeners. A reload
// replaces it.
type generation struct {
	settings Settings
	room     *queue.Room
	stock    *stock
	gate     *gate.Gate
	file     *stateFile
	joins    *keyed.Limiter
	visitors http.Handler
	operator http.Handler
	stop     context.CancelFunc // of the admitter
	stopped  chan struct{}
}

func newGeneration(all *stores, s Settings, draining func() bool) (*generation, error) {
	keys, err := token.NewRing(s.Secrets...)
	if err != nil {
		return nil, err
	}
	room, told, err := roomOf(all, s, keys)
	if err != nil {
		return nil, err
	}
	n := &generation{settings: s, room: room, stock: told, file: all.file, joins: all.joins, stopped: make(chan struct{})}
	g, err := gateOf(all, s, keys, room)
	if err != nil {
		return nil, err
	}
	n.gate = g
	switch s.Judge {
	case "none":
		n.visitors, err = g.Handler()
	case "nginx":
		n.visitors, err = g.Judge(gate.Nginx)
	case "envoy":
		n.visitors, err = g.Judge(gate.Envoy)
	default:
		n.visitors, err = g.Judge(gate.Forward)
	}
	if err != nil {
		return nil, err
	}
	if n.operator, err = n.operators(draining); err != nil {
		return nil, err
	}
	return n, nil
}

// run admits visitors until end is called.
func (n *generation) run() {
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	go func() {
		defer close(n.stopped)
		_ = n.room.Run(ctx) // it returns nil
	}()
}

// end stops admitting, and hands over what the room has heard.
func (n *generation) end() error {
	n.stop()
	<-n.stopped
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	n.gate.Close()
	n.stock.close()
	return n.room.Flush(ctx)
}

// operators serves metrics, health, readiness and the room's figures.
func (n *generation) operators(draining func() bool) (http.Handler, error) {
	rooms, err := metrics.NewQueue(n.room, metrics.QueueConfig{Events: []string{n.settings.Event}})
	if err != nil {
		return nil, err
	}
	joins, err := metrics.New(n.joins)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	for _, c := range append(n.counters(), rooms) {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	if err := prometheus.WrapRegistererWith(prometheus.Labels{"limiter": "joins"}, registry).Register(joins); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := n.ready(r.Context(), draining); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		if err := n.file.trouble(); err != nil {
			say(w, http.StatusOK, "ready, but a restart would lose places: "+err.Error())
			return
		}
		say(w, http.StatusOK, "ready")
	})
	mux.Handle("/room", n.gate.Operator())
	mux.Handle("/room/", n.gate.Operator())
	return mux, nil
}

var errDraining = errors.New("the gate is shutting down")

// ready says why no visitor should be sent here.
func (n *generation) ready(ctx context.Context, draining func() bool) error {
	if draining() {
		return errDraining
	}
	_, err := n.room.State(ctx, n.settings.Event)
	return err
}

// counters are the counts of the gate; those of the room are of package metrics.
func (n *generation) counters() []prometheus.Collector {
	var all []prometheus.Collector
	for outcome, count := range map[string]func(gate.Stats) int64{
		"inside": func(s gate.Stats) int64 { return s.Inside }, "passed": func(s gate.Stats) int64 { return s.Passed },
		"entered": func(s gate.Stats) int64 { return s.Entered }, "waited": func(s gate.Stats) int64 { return s.Waited },
		"refused": func(s gate.Stats) int64 { return s.Refused }, "odd_path": func(s gate.Stats) int64 { return s.Odd },
	} {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "millrace_gate_requests_total", Help: "Requests by what the gate decided.", ConstLabels: prometheus.Labels{"outcome": outcome},
		}, func() float64 { return float64(count(n.gate.Stats())) }))
	}
	if n.file != nil {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "millrace_gate_save_failures_total", Help: "Attempts to save the room to the file of --state that failed."},
			func() float64 { return float64(n.file.failed.Load()) }))
	}
	return append(all,
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "millrace_gate_origin_failures_total", Help: "Requests that the site behind the gate did not answer."},
			func() float64 { return float64(n.gate.Stats().Failed) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "millrace_gate_open_requests", Help: "Requests that are open at the site behind the gate."},
			func() float64 { return float64(n.gate.Stats().Open) }),
	)
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}
