package outbox

import (
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
)

// asideIndex holds, for each key of a shard with deferred events, how many there are and when
// the first may be retried. Only the lease's holder changes deferred events, so the index is
// exact.
type asideIndex struct {
	keys  map[string]*asideKey
	total int
	first time.Time // the earliest due time of any key
}

type asideKey struct {
	count int
	due   time.Time
	tried attempt // of the first event
}

// attempt holds when this relay last tried an event, and how many other events it had confirmed
// by then. The zero attempt means none. It also holds the state of the event that some stores
// do not keep.
type attempt struct {
	at   time.Time
	seen int64
	// blamed: the event failed although the publisher worked.
	blamed bool
	told   bool // logged

	retries int
	since   time.Time
	refused int // how often its dead letter was refused
}

func newAsideIndex(aside []driver.Aside, now time.Time) asideIndex {
	x := asideIndex{keys: map[string]*asideKey{}}
	for _, a := range aside {
		x.keys[a.Key] = &asideKey{count: a.Count, due: now.Add(a.Wait)}
		x.total += a.Count
	}
	x.refresh()
	return x
}

func (x *asideIndex) empty() bool { return len(x.keys) == 0 }

func (x *asideIndex) has(key string) bool {
	if len(x.keys) == 0 {
		return false
	}
	_, ok := x.keys[key]
	return ok
}

// until returns the given time, or the first due time if that is earlier.
func (x *asideIndex) until(t time.Time) time.Time {
	if x.empty() {
		return t
	}
	return earlier(t, x.first)
}

// dueKeys returns up to limit keys whose first event is due.
func (x *asideIndex) dueKeys(now time.Time, limit int) []string {
	if x.empty() || x.first.After(now) {
		return nil
	}
	var due []string
	for key, k := range x.keys {
		if !k.due.After(now) {
			if due = append(due, key); len(due) == limit {
				break
			}
		}
	}
	return due
}

// add records one more event of key, behind the events of key that are deferred already; due
// and tried count only for the first.
func (x *asideIndex) add(key string, due time.Time, tried attempt) {
	x.total++
	if k, ok := x.keys[key]; ok {
		k.count++
		return
	}
	x.keys[key] = &asideKey{count: 1, due: due, tried: tried}
}

// lastTry returns the last attempt at the first event of key.
func (x *asideIndex) lastTry(key string) attempt {
	if k, ok := x.keys[key]; ok {
		return k.tried
	}
	return attempt{}
}

// done records that the first event of key is finished: the next may follow.
func (x *asideIndex) done(key string, now time.Time) {
	k, ok := x.keys[key]
	if !ok {
		return
	}
	x.total--
	if k.count--; k.count <= 0 {
		delete(x.keys, key)
		return
	}
	k.due, k.tried = now, attempt{}
}

// postpone sets when the first event of key may be retried.
func (x *asideIndex) postpone(key string, due time.Time) {
	if k, ok := x.keys[key]; ok {
		k.due = due
	}
}

// failed records another attempt at the first event of key.
func (x *asideIndex) failed(key string, due time.Time, tried attempt) {
	if k, ok := x.keys[key]; ok {
		k.due, k.tried = due, tried
	}
}

// correct sets the number of events of key to the number found in the store.
func (x *asideIndex) correct(key string, n int) {
	k, ok := x.keys[key]
	if !ok {
		return
	}
	x.total += n - k.count
	if k.count = n; n == 0 {
		delete(x.keys, key)
	}
}

// hurry makes every key due whose first event is not at fault itself.
func (x *asideIndex) hurry(now time.Time) {
	for _, k := range x.keys {
		if !k.tried.blamed {
			k.due = earlier(k.due, now)
		}
	}
}

// refresh recomputes first; call it after a change of due times.
func (x *asideIndex) refresh() {
	x.first = time.Time{}
	for _, k := range x.keys {
		if x.first.IsZero() || k.due.Before(x.first) {
			x.first = k.due
		}
	}
}
