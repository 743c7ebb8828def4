package logbustest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace-go/millrace/bus"
)

const (
	ledgerKeys = 7
	killedTTL  = 600 * time.Millisecond
)

// publishNumbers publishes the numbers from..to of every key.
func publishNumbers(b *bus.Bus, from, to int, pause time.Duration) error {
	for n := from; n <= to; n++ {
		for k := range ledgerKeys {
			key := fmt.Sprint("key", k)
			if err := b.Publisher().Publish(processTopic, Keyed(key, fmt.Sprintf("%s#%d", key, n))); err != nil {
				return err
			}
		}
		time.Sleep(pause) // the pace
	}
	return nil
}

// KilledConsumers has two consumer processes at a time that share a group while a third process
// publishes; they are killed at random moments and replaced. Every message is handled, the
// handling of each key never skips ahead, and the repeats are at most the messages that were out
// at a kill.
func KilledConsumers(t *testing.T, tr Transport) {
	const each = 60
	url, b, l := tr.payments(t, Settings{LeaseTTL: killedTTL})
	kills := 6
	if testing.Short() {
		kills = 2
	}
	published := make(chan error, 1)
	go func() { published <- publishNumbers(b, 1, each, 20*time.Millisecond) }()
	alive := []*process{start(t, url, "", killedTTL, l), start(t, url, "", killedTTL, l)}
	for range kills {
		time.Sleep(time.Duration(100+rand.IntN(400)) * time.Millisecond) // a random moment
		alive[0].kill()
		alive = append(alive[1:], start(t, url, "", killedTTL, l))
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	a := l.wait(t, ledgerKeys, each, 30*time.Second)
	if most := kills * 2 * (processWindow + 10); a.repeats > most {
		t.Errorf("%d repeats after %d kills, want at most %d", a.repeats, kills, most)
	}
	t.Logf("%d messages, %d handled, %d repeats, %d kills", ledgerKeys*each, a.total, a.repeats, kills)
}
