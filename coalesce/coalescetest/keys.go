package coalescetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/steps"
)

// odd returns keys that a store may confuse, or that break a hash tag.
func odd() []string {
	return []string{
		"a", "A", "a ", " a", "{", "}", "{}", "}{", "a}", "a}b", "{a}", "a}:lock", "a:lock", "a:ver", "%", "%7D", "%7d", "%257D", "%25",
		"a\x00", "a\n", "*", "?", "[a]", "ä", "a\u0308", "한글 🎟", "\xff\xfe", "1", "01", "1.0",
		strings.Repeat("k", driver.MaxKey), strings.Repeat("k", driver.MaxKey-1) + "l", strings.Repeat("}", driver.MaxKey),
	}
}

// keys: every key has its own lock, mark and version.
func keys(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	tickets := map[string]driver.Ticket{}
	for _, key := range odd() {
		t := steps.Get(ask(ctx, h.Store, key, driver.Low, false, driver.Published))
		tickets[key] = t
	}
	for _, key := range odd() {
		steps.Named(held(ctx, h.Peer, tickets[key]), "key %.40q", key)
		steps.Do(newest(ctx, h.Peer, key, tickets[key].Version))
	}
	for i, key := range odd() {
		if i%2 == 0 {
			steps.Get(ask(ctx, h.Store, key, driver.Low, true, driver.AlreadyProcessing))
		}
	}
	for i, key := range odd() {
		if i%2 == 0 {
			next, err := rerun(ctx, h.Store, tickets[key], driver.Low)
			steps.Named(err, "key %.40q", key)
			tickets[key] = next
		}
		steps.Named(done(ctx, h.Peer, tickets[key], true), "key %.40q", key)
	}
	return nil
}

// arguments: invalid arguments are refused permanently, and change nothing.
func arguments(ctx context.Context, h Harness) error {
	s := h.Store
	ticket := driver.Ticket{Key: key, Priority: driver.Low, Version: 1}
	long, empty, odd, zero := ticket, ticket, ticket, ticket
	long.Key, empty.Key, odd.Priority, zero.Version = strings.Repeat("k", driver.MaxKey+1), "", "low", 0
	var calls []error
	for _, t := range []driver.Ticket{long, empty, odd, zero} {
		_, release := s.Release(ctx, t)
		_, done := s.Done(ctx, t, ttl)
		_, extend := s.Extend(ctx, t, ttl)
		calls = append(calls, release, done, extend)
		if t != zero {
			_, request := s.Request(ctx, t.Key, t.Priority, false, ttl)
			calls = append(calls, request)
		}
	}
	_, _, current := s.Current(ctx, "")
	calls = append(calls, current)
	for i, err := range calls {
		if fault.Of(err) != fault.Permanent {
			return fmt.Errorf("call %d with a bad argument: %w; want a permanent error", i, orNil(err))
		}
	}
	if !errors.Is(current, driver.ErrEmptyKey) {
		return fmt.Errorf("Current of an empty key: %w; want ErrEmptyKey", orNil(current))
	}
	return nil
}

// cancelledContext: a call with an ended context does nothing.
func cancelledContext(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := h.Store.Request(ended, key, driver.High, false, ttl); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a cancelled Request: %w; want context.Canceled", orNil(err))
	}
	t, err := ask(ctx, h.Store, key, driver.Low, false, driver.Published)
	steps.Named(err, "after a cancelled Request")
	_, release := h.Store.Release(ended, t)
	_, done := h.Store.Done(ended, t, ttl)
	_, extend := h.Store.Extend(ended, t, ttl)
	_, _, current := h.Store.Current(ended, key)
	for name, err := range map[string]error{"Release": release, "Done": done, "Extend": extend, "Current": current} {
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("a cancelled %s: %w; want context.Canceled", name, orNil(err))
		}
	}
	return held(ctx, h.Peer, t)
}
