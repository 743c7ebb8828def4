// Command shared uses a waiting room, and a limiter, on a Redis that processes of several
// releases share. It reads calls as lines of JSON and answers each with a line. It is built
// with an older release as well.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/redisqueue"
	"github.com/millrace-go/millrace/queue/token"
	"github.com/millrace-go/millrace/ratelimit"
	"github.com/millrace-go/millrace/ratelimit/redisratelimit"
)

// call is a line of input: a poll or the departure of a user, or, without a user, as many units
// of the limit as are free.
type call struct {
	User, Ticket string
	Leave        bool
}

// answer is a line of output.
type answer struct {
	Status        string
	Ticket        string
	Active, Units int
	Err           string
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run answers until the end of the input.
func run(ctx context.Context, url, name string) error {
	options, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	options.ContextTimeoutEnabled, options.MaxRetries, options.DialerRetries = true, -1, 1
	client := redis.NewClient(options)
	defer client.Close() //nolint:errcheck // at the end
	store, err := redisqueue.New(client, redisqueue.Config{})
	if err != nil {
		return err
	}
	keys, err := token.NewRing("0123456789abcdef0123456789abcdef")
	if err != nil {
		return err
	}
	room, err := queue.New(store, keys, queue.Config{
		Threshold: 10, Tick: 50 * time.Millisecond, Refresh: 50 * time.Millisecond,
		// However slow the machine is, no user whose turn has come counts as silent.
		Intervals: []queue.Interval{{UpTo: math.MaxInt, Every: time.Minute}},
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- admit(ctx, room) }()
	defer func() {
		stop()
		<-ended // by its context
	}()
	limiter, err := redisratelimit.New(client, redisratelimit.Config{Name: name})
	if err != nil {
		return err
	}
	plan, err := ratelimit.Limits{HardLimit: 100, Rate: 90, LowRate: 70}.Plan()
	if err != nil {
		return err
	}

	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var c call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return err
		}
		var a answer
		switch {
		case c.User == "":
			a.Units, err = take(ctx, limiter, plan)
		case c.Leave:
			err = room.Leave(ctx, name, c.User)
		default:
			var p queue.Place
			p, err = room.Check(ctx, name, queue.Visitor{User: c.User, Ticket: c.Ticket})
			a.Status, a.Ticket, a.Active = p.Status.String(), p.Ticket, p.Active
		}
		if err != nil {
			a.Err = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}
