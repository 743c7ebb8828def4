package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/audit"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// visitors are a crowd in an office. They compare the office's state with its answers.
type visitors struct {
	t     testing.TB
	o     *office
	fans  *crowd.Crowd
	ops   audit.Office
	stop  context.CancelFunc
	ended chan error
	left  bool
}

// visit runs fans until leave is called. They act on the URLs, in turn.
func (o *office) visit(concurrency int, seed uint64, urls ...string) *visitors {
	o.t.Helper()
	return o.visitBy(crowd.Config{Concurrency: concurrency, Seed: seed, Churn: true}, urls...)
}

// visitBy is visit for another crowd; a crowd with a number of fans ends by itself.
func (o *office) visitBy(cfg crowd.Config, urls ...string) *visitors {
	o.t.Helper()
	cfg.URL, cfg.Others, cfg.Patience, cfg.Think = urls[0], urls[1:], 2*time.Minute, 100*time.Millisecond
	fans, err := crowd.New(cfg)
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	v := &visitors{
		t: o.t, o: o, fans: fans, stop: stop, ended: make(chan error, 1),
		ops: audit.Office{Admin: o.launch.Admin, Client: &crowd.Client{URL: urls[0], HTTP: crowd.NewHTTP(16), Patience: 30 * time.Second}},
	}
	go func() { v.ended <- fans.Run(ctx) }()
	o.t.Cleanup(func() {
		stop()
		if !v.left {
			<-v.ended
		}
		v.ops.Client.HTTP.CloseIdleConnections()
	})
	return v
}

// some waits until n fans have finished.
func (v *visitors) some(n int) {
	v.t.Helper()
	eventually(v.t, "fans have been through", func() bool { return v.fans.Progress().Done >= n })
}

// leave lets the fans finish, waits until nothing moves, and wants every check of the
// demo's audit to hold: the books, the gateway's ledger one by one, the inboxes, the
// comments, the chat, and that there are no dead letters. It returns the operator's
// figures.
func (v *visitors) leave() audit.Ops {
	v.t.Helper()
	if v.fans.Progress().Fans == 0 {
		v.fans.LastCall()
	}
	if err := <-v.ended; err != nil {
		v.t.Errorf("the crowd: %v", err)
	}
	v.left = true
	ctx, cancel := context.WithTimeout(v.t.Context(), 5*time.Minute)
	defer cancel()
	result, err := audit.Run(ctx, audit.Subject{Office: v.ops, GatewayURL: v.o.launch.Gateway, Patience: 3 * time.Minute, Crowd: v.fans})
	if err != nil {
		v.t.Fatalf("audit: %v", err)
	}
	held := 0
	for _, c := range append(result.Own, result.Outside...) {
		if !c.OK {
			v.t.Errorf("%s: %s", c.Name, c.Detail)
			continue
		}
		held++
	}
	p := v.fans.Progress()
	measured(v.t, "%d fans, %d requests, %d of %d checks of the audit hold", p.Done, p.Requests, held, len(result.Own)+len(result.Outside))
	if p.Done == 0 || !result.OK() {
		v.t.Errorf("%d fans came, and the audit holds: %v", p.Done, result.OK())
	}
	ops, err := v.ops.Ops(ctx)
	if err != nil {
		v.t.Fatal(err)
	}
	return ops
}
