package scenarios

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/app"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
)

// skippedTwice counts the messages that consumers skipped as already handled.
const skippedTwice = `millrace_idempotency_events_total{outcome="duplicate"}`

// doubler publishes every message twice, and mixes those of different keys. The
// messages of one key come in their order, and then in their order once more.
type doubler struct {
	message.Publisher
	published, mixed atomic.Int64
}

// Publish implements message.Publisher.
func (d *doubler) Publish(topic string, all ...*message.Message) error {
	mixed := mixKeys(all)
	for i := range all {
		if all[i] != mixed[i] {
			d.mixed.Add(1)
		}
	}
	again := make([]*message.Message, len(all))
	for i, m := range all {
		again[i] = m.Copy()
		again[i].SetContext(m.Context())
	}
	if err := d.Publisher.Publish(topic, mixed...); err != nil {
		return err
	}
	if err := d.Publisher.Publish(topic, again...); err != nil {
		return err
	}
	d.published.Add(int64(len(all)))
	return nil
}

// mixKeys takes a message of each key in turn, the last key first.
func mixKeys(all []*message.Message) (mixed []*message.Message) {
	var keys []string
	of := map[string][]*message.Message{}
	for _, m := range all {
		key := event.Key(m)
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], m)
	}
	slices.Reverse(keys)
	for len(mixed) < len(all) {
		for _, key := range keys {
			if len(of[key]) > 0 {
				mixed, of[key] = append(mixed, of[key][0]), of[key][1:]
			}
		}
	}
	return mixed
}

// runApp runs a process of an office in this one, until the test's end.
func (o *office) runApp(roles string, opt app.Options) *app.App {
	o.t.Helper()
	logs, err := os.Create(filepath.Join(o.t.TempDir(), "app.log"))
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { check(o.t, "close the log", logs.Close()) })
	env := map[string]string{
		"BOXOFFICE_ADDR": "127.0.0.1:0", "BOXOFFICE_DATA_DIR": o.dir, "BOXOFFICE_ROLES": roles,
		"BOXOFFICE_GATEWAY_URL": o.launch.Gateway, "BOXOFFICE_ADMIN_TOKEN": o.launch.Admin,
		"BOXOFFICE_HOLD_SECONDS": strconv.Itoa(int(o.launch.Hold / time.Second)),
	}
	for name, value := range o.launch.Env {
		env[name] = value
	}
	cfg, err := config.Parse(nil, func(name string) string { return env[name] }, app.Schemes(), os.Stderr)
	if err != nil {
		o.t.Fatal(err)
	}
	opt.Logger = slog.New(slog.NewTextHandler(logs, nil))
	a, err := app.New(cfg, opt)
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	o.t.Cleanup(func() {
		stop()
		check(o.t, roles+" in this process", <-ended)
	})
	select {
	case <-a.Ready():
	case err := <-ended:
		ended <- nil
		o.t.Fatalf("%s in this process: %v", roles, err)
	}
	return a
}

// Every message is published twice, and those of different keys change places. Each
// has one effect: the books, the ledger, the inboxes, the comments and the chat are
// those of the crowd, and every consumer has skipped the repeated messages.
func TestScenario19Doubled(t *testing.T) {
	twice := func(t *testing.T, o *office, d *doubler, skipped func() float64, urls ...string) {
		v := o.visit(32, 19, urls...)
		v.some(often(t, 200, 30))
		v.leave()
		n := d.published.Load()
		// A message is skipped by every group that handles its type; some groups handle no
		// message.
		if again := skipped(); n < 100 || again < float64(n) {
			t.Errorf("of %d messages that were published twice, consumers skipped %.0f", n, again)
		}
		if d.mixed.Load() == 0 {
			t.Error("no message changed its place")
		}
		measured(t, "%d messages twice, %d of them out of their place; %.0f skipped as handled before", n, d.mixed.Load(), skipped())
	}
	columns(t, func(t *testing.T) {
		d := &doubler{}
		o := openOffice(t, officePlan{processes: [][2]string{}})
		a := o.runApp("all", app.Options{WrapRelay: d.around, WrapArtists: d.aroundArtists})
		o.each["here"] = &member{roles: "all", addr: a.URL()[len("http://"):]}
		twice(t, o, d, func() float64 { return o.metric(skippedTwice, "here") }, a.URL())
	}, func(t *testing.T) {
		d := &doubler{}
		processes := slices.DeleteFunc(apart(), func(p [2]string) bool { return p[1] == "relay" })
		o := openOffice(t, officePlan{processes: processes})
		o.runApp("relay", app.Options{WrapRelay: d.around})
		twice(t, o, d, func() float64 { return o.metric(skippedTwice, o.called("worker")...) }, o.apis()...)
	})
}

func (d *doubler) around(next message.Publisher) (message.Publisher, error) {
	d.Publisher = next
	return d, nil
}

// aroundArtists doubles as well, and counts separately.
func (d *doubler) aroundArtists(next message.Publisher) message.Publisher {
	return &doubler{Publisher: next}
}
