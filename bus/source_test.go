package bus_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing/synctest"

	"github.com/ThreeDotsLabs/watermill/message"
)

// feed is a source that hands over the messages of the test, with no goroutine of its own, and
// records how each message was answered.
type feed struct {
	ch     chan *message.Message
	mu     sync.Mutex
	given  []*message.Message
	ctx    context.Context // of the latest Subscribe
	ended  bool
	closes int
}

func newFeed() *feed { return &feed{ch: make(chan *message.Message, 10_000)} }

func (f *feed) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx = ctx
	context.AfterFunc(ctx, f.end)
	return f.ch, nil
}

func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended {
		f.ended = true
		close(f.ch)
	}
}

func (f *feed) Close() error {
	f.mu.Lock()
	f.closes++
	f.mu.Unlock()
	return nil
}

func (f *feed) put(messages ...*message.Message) {
	for _, m := range messages {
		f.given = append(f.given, m)
		f.ch <- m
	}
}

// answers returns "key#n:ack", ":nack" or ":open" for every message of the feed.
func (f *feed) answers() string {
	var all []string
	for _, m := range f.given {
		answer := "open"
		select {
		case <-m.Acked():
			answer = "ack"
		case <-m.Nacked():
			answer = "nack"
		default:
		}
		all = append(all, m.UUID+":"+answer)
	}
	return strings.Join(all, " ")
}

// drain receives messages until no more come.
func drain(ch <-chan *message.Message) (got []*message.Message) {
	for {
		synctest.Wait()
		select {
		case m, ok := <-ch:
			if !ok {
				return got
			}
			got = append(got, m)
		default:
			return got
		}
	}
}

func ids(messages []*message.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, m.UUID)
	}
	return strings.Join(all, " ")
}

// ours counts the goroutines that run code of this module or of a dependency, except the test's
// own.
func ours() (n int) {
	buf := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "github.com/") && !strings.Contains(stack, "testing.") && !strings.Contains(stack, "TestMain") {
			n++
		}
	}
	return n
}

// partitioned is a foreign subscriber like Watermill's: each partition waits for the answer to a
// message before it hands over the next, and redelivers a nacked one.
type partitioned struct {
	partitions [][]*message.Message
	wg         sync.WaitGroup
	mu         sync.Mutex
	acked      []string
	stop       chan struct{}
	once       sync.Once
}

func (p *partitioned) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	for _, part := range p.partitions {
		p.wg.Go(func() {
			for i := 0; i < len(part); {
				m := part[i].Copy()
				mctx, cancel := context.WithCancel(ctx)
				m.SetContext(mctx)
				select {
				case out <- m:
				case <-ctx.Done():
				case <-p.stop:
				}
				select {
				case <-m.Acked():
					p.mu.Lock()
					p.acked = append(p.acked, m.UUID)
					p.mu.Unlock()
					i++
				case <-m.Nacked():
				case <-ctx.Done():
				case <-p.stop:
				}
				cancel()
				if ctx.Err() != nil || isDone(p.stop) {
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-p.stop:
			}
		})
	}
	go func() {
		p.wg.Wait()
		close(out)
	}()
	return out, nil
}

func (p *partitioned) Close() error {
	p.once.Do(func() { close(p.stop) })
	p.wg.Wait()
	return nil
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
