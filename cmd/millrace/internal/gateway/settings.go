package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/challenge"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/filesettings"
	"github.com/millrace-go/millrace/queue/gate"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/redisqueue"
	"github.com/millrace-go/millrace/queue/token"
	"github.com/millrace-go/millrace/ratelimit/keyed"
	keyeddriver "github.com/millrace-go/millrace/ratelimit/keyed/driver"
	"github.com/millrace-go/millrace/ratelimit/keyed/rediskeyed"

	"github.com/millrace-go/millrace/internal/redisdb"
)

// Settings are those of a gate. The first seven need a restart to change.
type Settings struct {
	Listen, AdminListen string // addresses; without the second there are no operator's routes
	Redis, Prefix       string // URL; empty: the room is in memory
	State               string // file of the room in memory; empty: it ends with the process
	Event               string
	Kept                string // file of what operators set; empty: the store alone has it

	To         string // URL of the site; empty for a judge
	Judge      string // "none", "nginx", "envoy" or "forward"
	Threshold  int
	Active     time.Duration
	Pass, Wait []string
	Proxied    bool
	Joins      *queuehttp.JoinRates // without its limiter; nil for no bound
	Challenge  bool
	Lanes      []queue.Lane
	Keep       time.Duration // zero: as package queue
	Stock      string        // URL by which the site tells its stock; empty: it has no limit
	Secrets    []string      // the first signs
	Logger     *slog.Logger
}

// fixed are the settings that a reload does not change.
func (s Settings) fixed() [7]string {
	return [7]string{s.Listen, s.AdminListen, s.Redis, s.Prefix, s.State, s.Event, s.Kept}
}

// stores are what the generations of a server share.
type stores struct {
	rooms driver.Store
	file  *stateFile // nil without --state
	joins *keyed.Limiter
	close func() error
}

// openStores makes the stores. It does not connect.
func openStores(s Settings) (*stores, error) {
	all, shared := &stores{close: func() error { return nil }}, keyeddriver.Store(nil)
	var err error
	switch {
	case s.State != "":
		if all.file, err = openState(s.State, s.Logger); err == nil {
			all.rooms, all.close = all.file.store, all.file.close
		}
	case s.Redis == "":
		all.rooms, err = memqueue.New(memqueue.Config{})
	default:
		var client redis.UniversalClient
		if client, err = redisdb.Open(s.Redis, redisdb.Config{}); err != nil {
			return nil, err
		}
		all.close = client.Close
		if all.rooms, err = redisqueue.New(client, redisqueue.Config{Prefix: s.Prefix}); err == nil {
			shared, err = rediskeyed.New(client, rediskeyed.Config{Name: s.Prefix + "joins"})
		}
	}
	if err == nil {
		all.joins, err = keyed.New(shared, keyed.Config{Logger: s.Logger})
	}
	if err != nil {
		return nil, errors.Join(err, all.close())
	}
	return all, nil
}

// roomOf makes a room. The stock is nil for a site that tells none.
func roomOf(all *stores, s Settings, keys *token.Ring) (_ *queue.Room, told *stock, err error) {
	rooms := queue.Config{Threshold: s.Threshold, Active: s.Active, Lanes: s.Lanes, Keep: s.Keep, Logger: s.Logger}
	if s.Stock != "" {
		if told, err = newStock(s.Stock); err != nil {
			return nil, nil, err
		}
		rooms.Stock = told.ask
	}
	if s.Kept != "" {
		if rooms.Settings, err = filesettings.Open(s.Kept); err != nil {
			return nil, nil, fmt.Errorf("--settings: %w", err)
		}
	}
	room, err := queue.New(all.rooms, keys, rooms)
	return room, told, err
}

// gateOf makes a gate before a room, which challenges newcomers if the flag says so, until an
// operator has said whether it does.
func gateOf(all *stores, s Settings, keys *token.Ring, room *queue.Room) (*gate.Gate, error) {
	cfg := gate.Config{
		Event: s.Event, Keys: keys, Pass: s.Pass, Wait: s.Wait, Member: newMembers(s).of, Proxied: s.Proxied, Logger: s.Logger,
	}
	if s.Joins != nil {
		own := *s.Joins
		own.Limiter = all.joins
		cfg.JoinRates = &own
	}
	cfg.Challenge = &challenge.Config{Keys: keys, Limiter: all.joins, On: func(string) bool { return s.Challenge }}
	if s.Judge == "none" {
		var err error
		if cfg.Origin, err = url.Parse(s.To); err != nil {
			return nil, fmt.Errorf("gateway: Settings.To: %w", err)
		}
	}
	return gate.New(room, cfg)
}
