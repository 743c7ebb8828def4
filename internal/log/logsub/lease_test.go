package logsub_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log"
	"github.com/millrace-go/millrace/internal/log/logsub"
)

// Where writers are serialized, all partitions of a member are taken in one transaction; if it
// fails, none is.
func TestPartitionsAreTakenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.together = true
		i := start(t, m, logsub.Config{Partitions: 64})
		var asked atomic.Int32
		broken := errors.New("the disk is full")
		fail := func(op string) error {
			// In the middle of the member's own calls, which follow the 64 of the declaration.
			if n := asked.Load(); strings.HasPrefix(op, "lease") && asked.Add(1) > 0 && n == 64+30 {
				return broken
			}
			return nil
		}
		i.link.fail.Store(&fail)
		ch := i.subscribe(100)
		for n := range 64 {
			i.publish(fmt.Sprintf("key%d#1", n))
		}
		for range 64 {
			next(t, ch).Done()
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		assert.Equal(t, 0, m.leased, "leases were taken on their own")
		if n := asked.Load(); n < 64+31+64 {
			t.Errorf("%d leases were asked for: the failed transaction was not begun again", n)
		}
		for c, row := range m.cursors {
			if row.token > 3 || row.until.Before(time.Now()) {
				t.Errorf("%+v: token %d, held until %s", c, row.token, row.until)
			}
		}
	})
}

// A failover of the database invalidates the entries that were read: the lane is released, and
// read again from its cursor.
func TestPositionsEndWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, one)
		ch := i.subscribe(10)
		i.publish("k#1", "k#2")
		next(t, ch).Done()
		open := next(t, ch)
		synctest.Wait()
		var refused atomic.Int32
		lost := func(op string) error {
			if op == "read" && refused.Add(1) == 1 {
				return fmt.Errorf("read: %w", log.ErrLeaseLost)
			}
			return nil
		}
		i.link.fail.Store(&lost)
		i.publish("k#3")
		expect(t, ch, "k#2", "k#3")
		assert.Error(t, open.Context().Err(), "the message of the lease before is still being handled")
	})
}

// However slow the database moves the cursors of many partitions, the leases of the others do
// not expire meanwhile.
func TestSlowCursorsLoseNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		i := start(t, m, logsub.Config{Partitions: 64, LeaseTTL: time.Second})
		ch := i.subscribe(100)
		for n := range 64 {
			i.publish(fmt.Sprintf("key%d#1", n))
		}
		var all []driver.Delivery
		lanes := map[int]bool{}
		for n := range 64 {
			all = append(all, next(t, ch))
			lanes[log.LaneOf(fmt.Sprintf("key%d", n), 64)] = true
		}
		begun := 0
		slow := func(op string) error {
			if op != "begin" {
				return nil
			}
			time.Sleep(300 * time.Millisecond)
			m.mu.Lock()
			defer m.mu.Unlock()
			begun++
			for c, row := range m.cursors {
				assert.Truef(t, row.until.After(time.Now()), "after %d transactions the lease of lane %d has run out", begun, c.Lane)
			}
			return nil
		}
		i.link.fail.Store(&slow)
		for _, d := range all {
			d.Done()
		}
		time.Sleep(5 * time.Second)
		i.link.fail.Store(nil)
		m.mu.Lock()
		defer m.mu.Unlock()
		if begun < 6 || len(m.advances) != len(lanes) {
			t.Errorf("%d cursors have moved, of %d, in %d transactions; want all, 16 in each, with renewals between them", len(m.advances), len(lanes), begun)
		}
	})
}
