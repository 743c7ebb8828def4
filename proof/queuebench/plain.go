package queuebench

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/proof/redisserver"
)

//go:embed lua/check.lua
var checkText string

//go:embed lua/admit.lua
var admitText string

//go:embed lua/purge.lua
var purgeText string

// plain is the waiting room as teams write it: three sorted sets, and a script for
// each operation.
type plain struct {
	client              *redis.Client
	check, admit, purge *redis.Script
	queue, seen, active string
	began               time.Time
}

func openPlain(s *redisserver.Server, event string, pool int) *plain {
	return &plain{
		client: s.Client(pool),
		check:  redis.NewScript(checkText), admit: redis.NewScript(admitText), purge: redis.NewScript(purgeText),
		queue: "{" + event + "-plain}:queue", seen: "{" + event + "-plain}:seen", active: "{" + event + "-plain}:active",
		began: time.Now(),
	}
}

func (p *plain) close() error { return p.client.Close() }

// stay is how long an admitted person may be inside.
const stay = 600 * time.Second

// call joins or polls.
func (p *plain) call(ctx context.Context, id string) error {
	answer, err := p.check.Run(ctx, p.client, []string{p.queue, p.seen, p.active}, id, time.Now().UnixMilli(), 0, stay.Milliseconds()).Int64Slice()
	if err != nil {
		return err
	}
	if len(answer) != 4 || answer[0] != 0 {
		return fmt.Errorf("%s does not wait: %v", id, answer)
	}
	return nil
}

func (p *plain) poll(ctx context.Context, who person) error { return p.call(ctx, who.id) }

func (p *plain) join(ctx context.Context, id string) (person, error) {
	return person{id: id}, p.call(ctx, id)
}

func (p *plain) learn([]person) error { return nil }

// fill writes the same data as check.lua, without the script.
func (p *plain) fill(ctx context.Context, ids []string) ([]person, error) {
	people := make([]person, 0, len(ids))
	now := float64(time.Now().UnixMilli())
	err := chunks(ids, func(some []string) error {
		members := make([]redis.Z, len(some))
		for i, id := range some {
			// People come one after the other: 500 with one score would be in the
			// order of their ids.
			members[i] = redis.Z{Score: now + float64(len(people))/1000, Member: id}
			people = append(people, person{id: id})
		}
		_, err := p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.ZAdd(ctx, p.queue, members...)
			pipe.ZAdd(ctx, p.seen, members...)
			return nil
		})
		return err
	})
	return people, err
}

func (p *plain) flush(context.Context) error { return nil }

func (p *plain) ready(context.Context) error { return nil }

func (p *plain) enter(ctx context.Context, most int) (int, error) {
	return p.admit.Run(ctx, p.client, []string{p.queue, p.seen, p.active}, time.Now().UnixMilli(), 1<<40, stay.Milliseconds(), most).Int()
}

func (p *plain) strike(ctx context.Context, _, dead []person) error {
	old := float64(p.began.Add(-grace).UnixMilli())
	return chunks(dead, func(some []person) error {
		members := make([]redis.Z, len(some))
		for i, who := range some {
			members[i] = redis.Z{Score: old, Member: who.id}
		}
		return p.client.ZAdd(ctx, p.seen, members...).Err()
	})
}

func (p *plain) sweep(ctx context.Context) (int, error) {
	// The client's own timeout is for programs; here it would end the measurement.
	client := p.client.WithTimeout(deadline)
	return p.purge.Run(ctx, client, []string{p.queue, p.seen}, p.began.UnixMilli()).Int()
}
