package sse

import (
	"sync"

	"github.com/millrace-go/millrace/sse/driver"
)

// backlog is a queue for a single worker, which takes MaxConns at a time.
type backlog[T any] struct {
	wake chan struct{}
	most int // in the queue; no bound when zero

	mu    sync.Mutex
	queue []T
}

func newBacklog[T any](most int) backlog[T] {
	return backlog[T]{wake: make(chan struct{}, 1), most: most}
}

// add appends to the queue, and returns how many of the oldest it dropped.
func (b *backlog[T]) add(more ...T) (over int) {
	b.mu.Lock()
	b.queue = append(b.queue, more...)
	if over = len(b.queue) - b.most; b.most > 0 && over > 0 {
		b.queue = append([]T(nil), b.queue[over:]...)
	} else {
		over = 0
	}
	b.mu.Unlock()
	notify(b.wake)
	return over
}

func (b *backlog[T]) next() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := b.queue[:min(len(b.queue), driver.MaxConns)]
	if b.queue = b.queue[len(batch):]; len(b.queue) == 0 {
		b.queue = nil
	}
	return batch
}

// back puts a batch back at the front. It does not wake the worker.
func (b *backlog[T]) back(batch []T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(append([]T(nil), batch...), b.queue...)
}

func notify(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}
