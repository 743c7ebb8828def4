package ssetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/sse/driver"
)

// ear listens, and keeps the messages to one address space.
type ear struct {
	cancel context.CancelFunc
	done   chan error
	change chan struct{} // has one when something came

	mu     sync.Mutex
	heard  []driver.Message
	ups    int
	downs  int
	ended  bool
	broken error
}

// tag tells the messages of one case from those of others on the same server.
type tag string

func listen(ctx context.Context, b driver.Broker, mine tag) (*ear, error) {
	ctx, cancel := context.WithCancel(ctx)
	e := &ear{cancel: cancel, done: make(chan error, 1), change: make(chan struct{}, 1)}
	record := func(note func()) {
		e.mu.Lock()
		if e.ended {
			e.broken = errors.New("a listener was called after Listen had returned")
		}
		note()
		e.mu.Unlock()
		select {
		case e.change <- struct{}{}:
		default:
		}
	}
	go func() {
		err := b.Listen(ctx, driver.Listener{
			Hear: func(m driver.Message) {
				if m.Event == string(mine) || m.Kind > driver.ToAll && m.To == string(mine) {
					record(func() { e.heard = append(e.heard, m) })
				}
			},
			Up: func() { record(func() { e.ups++ }) },
			Down: func() {
				record(func() {
					if e.downs++; e.downs > e.ups {
						e.broken = errors.New("Down came without an Up before it")
					}
				})
			},
		})
		e.mu.Lock()
		e.ended = true
		e.mu.Unlock()
		e.done <- err
	}()
	return e, e.until(ctx, "Up", func() bool { return e.ups > 0 })
}

// until waits until the heard messages are as expected.
func (e *ear) until(ctx context.Context, what string, is func() bool) error {
	for {
		e.mu.Lock()
		ok, broken, heard := is(), e.broken, len(e.heard)
		e.mu.Unlock()
		if broken != nil {
			return broken
		}
		if ok {
			return nil
		}
		select {
		case <-e.change:
		case <-ctx.Done():
			return fmt.Errorf("%s: did not come; %d messages did", what, heard)
		}
	}
}

// end ends the listening.
func (e *ear) end(ctx context.Context) error {
	e.cancel()
	select {
	case err := <-e.done:
		if err != nil {
			return fmt.Errorf("Listen returns %w when its context ends", err)
		}
	case <-ctx.Done():
		return errors.New("Listen goes on when its context has ended")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.broken
}

// soon bounds the wait for an expected message, well below a case's limit.
func soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 15*time.Second)
}

// brokerCases returns the suite for Brokers.
func brokerCases() []conformance.Case[BrokerHarness] {
	return []conformance.Case[BrokerHarness]{
		{Name: "everybody-hears-everything", Run: everybodyHears},
		{Name: "order-by-address", Run: orderByAddress},
		{Name: "large-and-binary-frames", Run: largeFrames},
		{Name: "nobody-listens", Run: func(ctx context.Context, h BrokerHarness) error {
			return h.Broker.Publish(ctx, driver.Message{Kind: driver.ToAll, Event: name("e"), Frame: []byte("data: x\n\n")})
		}},
		{Name: "messages-that-cannot-be", Run: func(ctx context.Context, h BrokerHarness) error {
			if err := h.Broker.Publish(ctx, driver.Message{Kind: driver.ToAll, Frame: make([]byte, driver.MaxMessage)}); err == nil {
				return errors.New("a message longer than MaxMessage is taken")
			}
			if err := h.Broker.Publish(ctx, driver.Message{Frame: []byte("data: x\n\n")}); err == nil {
				return errors.New("a message of no kind is taken")
			}
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if err := h.Broker.Publish(ended, driver.Message{Kind: driver.ToAll, Frame: []byte("data: x\n\n")}); err == nil {
				return errors.New("publish does not heed its context")
			}
			return nil
		}},
		{Name: "listening-ends", Run: listeningEnds},
		{Name: "a-cut-is-told", Needs: []conformance.Need{NeedCut}, Run: cutIsTold},
	}
}

func ears(ctx context.Context, h BrokerHarness, mine tag) ([]*ear, func() error, error) {
	var all []*ear
	end := func() error {
		var errs []error
		for _, e := range all {
			errs = append(errs, e.end(ctx))
		}
		return errors.Join(errs...)
	}
	for _, b := range h.Peers {
		e, err := listen(ctx, b, mine)
		all = append(all, e)
		if err != nil {
			return nil, end, errors.Join(err, end())
		}
	}
	return all, end, nil
}

func everybodyHears(ctx context.Context, h BrokerHarness) error {
	mine := tag(name("event"))
	ctx, cancel := soon(ctx)
	defer cancel()
	all, end, err := ears(ctx, h, mine)
	if err != nil {
		return err
	}
	to := string(mine)
	messages := []driver.Message{
		{Kind: driver.ToMember, To: to, Event: string(mine), ID: "7", Frame: []byte("event: x\ndata: y\nid: 7\n\n")},
		{Kind: driver.ToRoom, To: to, Event: string(mine), Frame: []byte("data: y\n\n")},
		{Kind: driver.ToAll, Event: string(mine), Frame: []byte("data: z\n\n")},
		{Kind: driver.Disconnect, To: to, Arg: "i.1"},
		{Kind: driver.Join, To: to, Arg: "room"}, {Kind: driver.Leave, To: to, Arg: "room"},
		{Kind: driver.Mute, To: to}, {Kind: driver.Unmute, To: to},
		{Kind: driver.Ask, To: to, Arg: "i.2", Frame: []byte("j.1\nj.2")}, {Kind: driver.Answer, To: to, Frame: []byte("+j.1\n-j.2\n")},
	}
	for i := range h.Peers {
		for _, m := range messages {
			if m.Arg != "" {
				m.Arg += fmt.Sprint(i)
			}
			if err := h.Peers[i].Publish(ctx, m); err != nil {
				return errors.Join(fmt.Errorf("publish: %w", err), end())
			}
		}
	}
	for i, e := range all {
		for j := range h.Peers {
			for _, m := range messages {
				if m.Arg != "" {
					m.Arg += fmt.Sprint(j)
				}
				what := fmt.Sprintf("listener %d hears the kind %d of peer %d", i, m.Kind, j)
				if err := e.until(ctx, what, func() bool {
					return slices.ContainsFunc(e.heard, func(got driver.Message) bool { return same(got, m) })
				}); err != nil {
					return errors.Join(err, end())
				}
			}
		}
	}
	// Some are the same of each peer, so the last of them may still be on its way.
	want := len(messages) * len(h.Peers)
	count := func(e *ear) (n int) {
		for _, m := range e.heard {
			if m.Kind <= driver.ToAll || m.To == to {
				n++
			}
		}
		return n
	}
	for i, e := range all {
		if err := e.until(ctx, fmt.Sprintf("listener %d hears all", i), func() bool { return count(e) >= want }); err != nil {
			return errors.Join(err, end())
		}
	}
	err = end()
	for i, e := range all { // at most once
		if n := count(e); n != want {
			err = errors.Join(err, fmt.Errorf("listener %d heard %d messages of %d", i, n, want))
		}
	}
	return err
}

func same(a, b driver.Message) bool {
	return a.Kind == b.Kind && a.To == b.To && a.Arg == b.Arg && a.Event == b.Event && a.ID == b.ID && bytes.Equal(a.Frame, b.Frame)
}

func orderByAddress(ctx context.Context, h BrokerHarness) error {
	const addresses, each = 5, 40
	mine := tag(name("event"))
	ctx, cancel := soon(ctx)
	defer cancel()
	all, end, err := ears(ctx, h, mine)
	if err != nil {
		return err
	}
	var publishers sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for a := range addresses {
		publishers.Go(func() {
			for i := range each {
				m := driver.Message{Kind: driver.ToRoom, To: fmt.Sprint("room", a), Event: string(mine), ID: fmt.Sprint(i), Frame: []byte("data: x\n\n")}
				if err := h.Broker.Publish(ctx, m); err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	publishers.Wait()
	for _, e := range all {
		failed = errors.Join(failed, e.until(ctx, "all of the rooms", func() bool { return len(e.heard) >= addresses*each }))
	}
	if err := errors.Join(failed, end()); err != nil {
		return err
	}
	for _, e := range all {
		next := map[string]int{}
		for _, m := range e.heard {
			if m.ID != fmt.Sprint(next[m.To]) {
				return fmt.Errorf("%s hears %s, and expects %d", m.To, m.ID, next[m.To])
			}
			next[m.To]++
		}
	}
	return nil
}

func largeFrames(ctx context.Context, h BrokerHarness) error {
	mine := tag(name("event"))
	ctx, cancel := soon(ctx)
	defer cancel()
	all, end, err := ears(ctx, h, mine)
	if err != nil {
		return err
	}
	binary := make([]byte, 256)
	for i := range binary {
		binary[i] = byte(i)
	}
	frames := [][]byte{binary, bytes.Repeat(binary, 2000)}
	for _, f := range frames {
		if err := h.Broker.Publish(ctx, driver.Message{Kind: driver.ToMember, To: "m{x}:*", Event: string(mine), Frame: f}); err != nil {
			return errors.Join(fmt.Errorf("publish %d bytes: %w", len(f), err), end())
		}
	}
	for _, e := range all {
		for _, f := range frames {
			if err := e.until(ctx, fmt.Sprintf("a frame of %d bytes", len(f)), func() bool {
				return slices.ContainsFunc(e.heard, func(m driver.Message) bool { return bytes.Equal(m.Frame, f) && m.To == "m{x}:*" })
			}); err != nil {
				return errors.Join(err, end())
			}
		}
	}
	return end()
}

func listeningEnds(ctx context.Context, h BrokerHarness) error {
	mine := tag(name("event"))
	ctx, cancel := soon(ctx)
	defer cancel()
	one, err := listen(ctx, h.Broker, mine)
	if err != nil {
		return errors.Join(err, one.end(ctx))
	}
	two, err := listen(ctx, h.Peers[len(h.Peers)-1], mine)
	if err = errors.Join(err, one.end(ctx)); err != nil {
		return errors.Join(err, two.end(ctx))
	}
	// The other listener goes on.
	if err := h.Broker.Publish(ctx, driver.Message{Kind: driver.ToAll, Event: string(mine), Frame: []byte("data: x\n\n")}); err != nil {
		return errors.Join(err, two.end(ctx))
	}
	err = two.until(ctx, "a message after the other has ended", func() bool { return len(two.heard) == 1 })
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.broken != nil || len(one.heard) > 0 {
		err = errors.Join(err, one.broken, fmt.Errorf("who has ended heard %d messages", len(one.heard)))
	}
	return errors.Join(err, two.end(ctx))
}

func cutIsTold(ctx context.Context, h BrokerHarness) error {
	mine := tag(name("event"))
	all, end, err := ears(ctx, h, mine)
	if err != nil {
		return err
	}
	if err := h.Cut(ctx); err != nil {
		return errors.Join(fmt.Errorf("cut: %w", err), end())
	}
	for _, e := range all {
		if err := e.until(ctx, "Down and Up after a cut", func() bool { return e.downs > 0 && e.ups > e.downs }); err != nil {
			return errors.Join(err, end())
		}
	}
	// A publisher's connection may have been cut as well.
	m := driver.Message{Kind: driver.ToAll, Event: string(mine), Frame: []byte("data: after\n\n")}
	for err = h.Broker.Publish(ctx, m); err != nil && ctx.Err() == nil; err = h.Broker.Publish(ctx, m) {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	for _, e := range all {
		err = errors.Join(err, e.until(ctx, "a message after the cut", func() bool { return len(e.heard) > 0 }))
	}
	return errors.Join(err, end())
}
