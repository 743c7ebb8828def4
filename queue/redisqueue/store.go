package redisqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

// store keeps the lines in Redis or a Redis Cluster, by Redis' own clock.
type store struct {
	client   redis.UniversalClient
	prefix   string
	registry string
	scripts  scripts
	clock    *clock
	added    registered
	extra    func() []any // more arguments, for tests
}

var (
	_ driver.Store    = (*store)(nil)
	_ driver.Drawer   = (*store)(nil)
	_ driver.Recorder = (*store)(nil)
)

// New makes a store on a client, which the caller has to close. New refuses a
// client that ignores contexts (a server that hangs would hold callers beyond their
// own) or retries calls (an admission that is carried out twice and answered once
// loses the first answer):
//
//	redis.NewUniversalClient(&redis.UniversalOptions{
//		Addrs: …, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
//	})
func New(client redis.UniversalClient, cfg Config) (driver.Store, error) {
	if client == nil {
		return nil, errors.New("redisqueue: the client is nil; make one with redis.NewUniversalClient")
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := redisdb.CheckClient(client); err != nil {
		return nil, fmt.Errorf("redisqueue: %w", err)
	}
	return &store{
		client: client, prefix: cfg.Prefix, registry: cfg.Prefix + "queue:active-events",
		scripts: newScripts(func(text string) string { return text }),
		clock:   newClock(), added: registered{at: map[string]time.Time{}},
	}, nil
}

// run runs a script, and reads the state at the beginning of its answer.
func (s *store) run(ctx context.Context, script *redis.Script, r driver.Rules, keys []string, args ...[]byte) (*answer, error) {
	all := make([]any, 0, len(args)+1)
	for _, arg := range args {
		all = append(all, arg)
	}
	if s.extra != nil {
		all = append(all, s.extra()...)
	}
	text, err := script.Run(ctx, s.client, keys, all...).Text()
	if err != nil {
		return nil, err
	}
	a := &answer{rest: text}
	if len(text) == double {
		s.clock.set(a.number())
		return nil, errMinute
	}
	if a.readState(r.Lanes); a.short {
		return nil, fmt.Errorf("the script answered %d bytes", len(text))
	}
	s.clock.set(a.state.Now.UnixMicro())
	return a, nil
}

// runBy runs a script some of whose keys are those of minutes. By the clock of Redis, in µs,
// ask says which they are, and the arguments.
func (s *store) runBy(ctx context.Context, script *redis.Script, r driver.Rules, ask func(now int64) (keys []string, args [][]byte)) (a *answer, err error) {
	for range tries {
		keys, args := ask(s.clock.now())
		if a, err = s.run(ctx, script, r, keys, args...); !errors.Is(err, errMinute) {
			break
		}
	}
	return a, err
}

// errMinute says that the script needs the keys of other minutes, which the clock
// knows by now.
var errMinute = errors.New("the clock of Redis differs at each look")

// tries of a call whose keys are those of minutes: the first after a step of the
// clock is in vain, and one may fall on the end of the minute.
const tries = 4

// Look returns the state of the line; see [driver.Store].
func (s *store) Look(ctx context.Context, event string, r driver.Rules, epoch, version uint64) (driver.View, error) {
	if err := checkRules(event, r); err != nil {
		return driver.View{}, wrap("look at", event, err)
	}
	args := rulesArgs(r, 3).doubles(float64(epoch), float64(version), driver.MaxBlocks)
	a, err := s.run(ctx, s.scripts.look, r, s.keysOf(event, r), args)
	if err != nil {
		return driver.View{}, s.failed("look at", event, err)
	}
	v := driver.View{State: a.state, Version: uint64(a.number()), Full: a.flag(), More: a.flag()}
	for len(a.rest) > 0 && !a.short {
		v.Blocks = append(v.Blocks, a.block())
	}
	if a.short {
		return driver.View{}, s.failed("look at", event, errShort)
	}
	slices.SortFunc(v.Blocks, func(a, b driver.Block) int { return cmp.Compare(a.Number, b.Number) })
	if v.Waiting+v.Active > 0 {
		s.again(ctx, event)
	}
	return v, nil
}

var errShort = errors.New("the script's answer ends too soon")

// Change carries out an operator's change; see [driver.Store].
func (s *store) Change(ctx context.Context, event string, r driver.Rules, c driver.Change) (driver.State, error) {
	if err := cmp.Or(checkRules(event, r), roomcalls.CheckChange(c)); err != nil {
		return driver.State{}, wrap("change", event, err)
	}
	gate, positions := none, 0.0
	if c.Gate != nil {
		gate, positions = flag(c.Gate.On), float64(c.Gate.Positions)
	}
	stock, gone, of := -2.0, none, 0.0
	if c.Stock != nil {
		stock = none
		if c.Stock.Known {
			stock = float64(c.Stock.Left)
		}
		if !c.Stock.At.IsZero() {
			gone, of = float64(c.Stock.Gone), float64(c.Stock.Epoch)
		}
	}
	args := rulesArgs(r, 13).doubles(
		given(c.Threshold, whole[int]), given(c.Paused, flag), flag(c.Clear), gate, positions, given(c.Settings, whole[int64]),
		given(c.Opens, msAt), flag(c.Opened), stock, flag(c.Shares != nil), given(c.Challenge, flag), gone, of)
	a, err := s.run(ctx, s.scripts.change, r, append(s.keysOf(event, r), s.drawKeys(event)...), args, sharesArgs(c.Shares))
	if err != nil {
		return driver.State{}, s.failed("change", event, err)
	}
	return a.state, nil
}
