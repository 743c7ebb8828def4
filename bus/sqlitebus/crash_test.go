package sqlitebus_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqlitebus"
	"github.com/millrace-go/millrace/event"
)

const (
	crashTopic = "payments"
	crashGroup = "consumer"
	crashKeys  = 7
	crashEach  = 60
	crashTTL   = 600 * time.Millisecond
)

// consume is the other process: it prints what it handles, and acknowledges it
// after it is printed, until it is killed.
func consume(path string) error {
	b, err := bus.NewOpener(sqlitebus.Scheme(sqlitebus.Config{LeaseTTL: crashTTL})).Open(context.Background(), "sqlite://"+path)
	if err != nil {
		return err
	}
	sub, err := b.Driver().Subscriber(crashGroup, 16)
	if err != nil {
		return err
	}
	ch, err := sub.Subscribe(context.Background(), crashTopic)
	if err != nil {
		return err
	}
	for m := range ch {
		if _, err := fmt.Println(string(m.Payload)); err != nil {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
		m.Ack()
	}
	return nil
}

// Two consumer processes at a time share a group while a third publishes; they
// are killed at random moments and replaced. Every message is handled, the
// handling of each key never skips ahead, and the repeats are at most what was
// out at a kill.
func TestKilledConsumers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	b := openBus(t, sqlitebus.Config{LeaseTTL: crashTTL}, "sqlite://"+path+"?synchronous=normal")
	if err := b.Declare(t.Context(), bus.Topic{Name: crashTopic, Groups: []string{crashGroup}}); err != nil {
		t.Fatal(err)
	}
	kills := 6
	if testing.Short() {
		kills = 2
	}

	var mu sync.Mutex
	seen := map[string]int{} // the last number of each key
	repeats, total := 0, 0
	var skipped []string
	handled := make(chan struct{}, 1)
	note := func(line string) {
		key, num, _ := strings.Cut(line, "#")
		var n int
		fmt.Sscan(num, &n)
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
		select {
		case handled <- struct{}{}:
		default:
		}
	}
	start := func() (kill func()) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SQLITEBUS_CONSUME="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				note(lines.Text())
			}
		})
		return func() {
			cmd.Process.Kill() // SIGKILL
			wg.Wait()
			cmd.Wait()
		}
	}

	published := make(chan error, 1)
	go func() {
		published <- func() error {
			for n := range crashEach {
				for k := range crashKeys {
					m := message.NewMessage("", fmt.Appendf(nil, "key%d#%d", k, n+1))
					m.Metadata.Set(event.KeyHeader, fmt.Sprintf("key%d", k))
					if err := b.Publisher().Publish(crashTopic, m); err != nil {
						return err
					}
				}
				time.Sleep(20 * time.Millisecond)
			}
			return nil
		}()
	}()
	alive := []func(){start(), start()}
	for range kills {
		time.Sleep(time.Duration(100+rand.IntN(400)) * time.Millisecond)
		alive[0]()
		alive = append(alive[1:], start())
	}
	defer func() {
		for _, kill := range alive {
			kill()
		}
	}()
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	deadline := time.After(30 * time.Second)
	for done := false; !done; {
		mu.Lock()
		done = len(seen) == crashKeys
		for _, n := range seen {
			done = done && n == crashEach
		}
		state := fmt.Sprint(seen)
		mu.Unlock()
		select {
		case <-handled:
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatalf("not everything was handled: %s", state)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(skipped) > 0 {
		t.Errorf("messages were handled too early: %v", skipped)
	}
	if most := kills * 2 * (16 + 10); repeats > most {
		t.Errorf("%d repeats after %d kills, want at most %d", repeats, kills, most)
	}
	t.Logf("%d messages, %d handled, %d repeats, %d kills", crashKeys*crashEach, total, repeats, kills)
}
