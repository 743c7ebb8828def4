package redisbus_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/internal/sourcetest"
)

const crashTTL = 600 * time.Millisecond

// consume is the other process: it prints each message that it handles, and then
// acknowledges it, until it is killed.
func consume(url string) error {
	b, err := tryOpen(redisbus.Config{LeaseTTL: crashTTL}, url)
	if err != nil {
		return err
	}
	sub := sourcetest.Subscriber(b.Driver(), "group", 16)
	ch, err := sub.Subscribe(context.Background(), "topic")
	if err != nil {
		return err
	}
	for m := range ch {
		if _, err := fmt.Println(m.Metadata.Get("partitionkey"), string(m.Payload)); err != nil {
			return err
		}
		m.Ack()
	}
	return nil
}

// Two consumer processes share a group while a third publishes; they are killed at random
// moments and replaced. Every message is handled, the handling of each key never skips
// ahead, and the repeats are at most the messages in flight at a kill.
func TestKilledConsumers(t *testing.T) {
	t.Run("single", func(t *testing.T) { killedConsumers(t, single(t)) })
	t.Run("cluster", func(t *testing.T) { killedConsumers(t, cluster(t)) })
}

func killedConsumers(t *testing.T, p place) {
	const keys, each, kills, window = 7, 60, 5, 16
	b := open(t, redisbus.Config{LeaseTTL: crashTTL}, p.url)
	require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: "topic", Groups: []string{"group"}}))
	var mu sync.Mutex
	seen := map[string]int{} // the last number of each key
	repeats, total := 0, 0
	var skipped []string
	note := func(line string) {
		var key string
		var n int
		fmt.Sscan(line, &key, &n)
		mu.Lock()
		defer mu.Unlock()
		total++
		switch {
		case n == seen[key]+1:
			seen[key] = n
		case n <= seen[key]:
			repeats++
		default:
			skipped = append(skipped, fmt.Sprintf("%s after %d", line, seen[key]))
		}
	}
	// All processes write into one pipe: the order of their lines is that of the handling.
	out, in, err := os.Pipe()
	require.NoError(t, err)
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			note(lines.Text())
		}
	})
	defer func() {
		in.Close()
		reading.Wait()
		out.Close()
	}()
	start := func() (kill func()) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "REDISBUS_CONSUME="+p.url)
		cmd.Stdout, cmd.Stderr = in, os.Stderr
		require.NoError(t, cmd.Start())
		return func() {
			cmd.Process.Kill() // SIGKILL
			cmd.Wait()
		}
	}
	published := make(chan error, 1)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := range each {
			var round []*message.Message
			for k := range keys {
				round = append(round, keyed(fmt.Sprintf("key%d", k), fmt.Sprint(n+1)))
			}
			if err := b.Publisher().Publish("topic", round...); err != nil {
				published <- err
				return
			}
			<-tick.C
		}
		published <- nil
	}()
	alive := []func(){start(), start()}
	defer func() {
		for _, kill := range alive {
			kill()
		}
	}()
	for range kills {
		time.Sleep(time.Duration(50+rand.IntN(250)) * time.Millisecond) // a random moment
		alive[0]()
		alive = append(alive[1:], start())
	}
	require.NoError(t, <-published)
	redistest.Until(t, "everything is handled", func() bool {
		mu.Lock()
		defer mu.Unlock()
		done := 0
		for _, n := range seen {
			done += n
		}
		return done == keys*each
	})
	mu.Lock()
	defer mu.Unlock()
	if len(skipped) > 0 {
		t.Errorf("messages were handled too early: %v", strings.Join(skipped, ", "))
	}
	// Messages in flight, and those acknowledged since the last write of cursors.
	if most := kills * 3 * window; repeats > most {
		t.Errorf("%d repeats after %d kills, want at most %d", repeats, kills, most)
	}
	t.Logf("%d messages, %d handled, %d repeats, %d kills", keys*each, total, repeats, kills)
}
