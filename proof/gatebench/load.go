package gatebench

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// line is the connections of a load.
type line []*wire

func open(ctx context.Context, at string, requests [][]byte) (all line, err error) {
	for _, r := range requests {
		w, err := dial(ctx, at, r)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		all = append(all, w)
	}
	return all, nil
}

func (l line) close() error {
	var errs []error
	for _, w := range l {
		errs = append(errs, w.conn.Close())
	}
	return errors.Join(errs...)
}

// deadline ends a load whose answers do not come.
func (l line) deadline(span time.Duration) error {
	for _, w := range l {
		if err := w.conn.SetDeadline(time.Now().Add(2*span + 30*time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// flat makes requests as fast as the answers come, and returns how many.
func (l line) flat(span time.Duration) (n int, err error) {
	if err := l.deadline(span); err != nil {
		return 0, err
	}
	var together errgroup.Group
	counts := make([]int, len(l))
	end := time.Now().Add(span)
	for i, w := range l {
		together.Go(func() error {
			for time.Now().Before(end) {
				if err := w.ask(); err != nil {
					return err
				}
				counts[i]++
			}
			return nil
		})
	}
	err = together.Wait()
	for _, c := range counts {
		n += c
	}
	return n, err
}

// open makes requests at a rate, whether they are answered or not, and returns the
// latencies in order.
func (l line) open(rate, requests int) ([]time.Duration, error) {
	every := time.Second / time.Duration(rate)
	if err := l.deadline(every * time.Duration(requests)); err != nil {
		return nil, err
	}
	free, due := make(chan int, len(l)), make([]chan time.Time, len(l))
	took := make([][]time.Duration, len(l))
	var together errgroup.Group
	failed := make(chan struct{})
	var once sync.Once
	for i, w := range l {
		due[i] = make(chan time.Time, 1)
		free <- i
		together.Go(func() error {
			for at := range due[i] {
				if err := w.ask(); err != nil {
					once.Do(func() { close(failed) })
					return err
				}
				took[i] = append(took[i], time.Since(at))
				free <- i
			}
			return nil
		})
	}
	pace(requests, every, func(at time.Time) bool {
		select {
		case i := <-free:
			due[i] <- at
			return true
		case <-failed:
			return false
		}
	})
	for _, c := range due {
		close(c)
	}
	err := together.Wait()
	all := slices.Concat(took...)
	slices.Sort(all)
	return all, err
}

// pace calls make at each moment that a request is due, until it returns false.
func pace(requests int, every time.Duration, make func(due time.Time) bool) {
	runtime.LockOSThread() // it sleeps in the operating system
	defer runtime.UnlockOSThread()
	start := time.Now()
	for i := range requests {
		due := start.Add(time.Duration(i) * every)
		if wait := time.Until(due); wait > 0 {
			left := syscall.NsecToTimespec(int64(wait))
			_ = syscall.Nanosleep(&left, nil) // a signal may end it early, by no more than the request's turn
			due = time.Now()
		}
		if !make(due) {
			return
		}
	}
}
