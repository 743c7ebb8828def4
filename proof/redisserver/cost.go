package redisserver

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-go/millrace/proof/report"
)

// Cost is what pieces of work took: all of them, and each.
type Cost struct {
	N      int64         // how many there were
	Passed time.Duration // in all
	Total  int64         // calls of Redis, in all

	report.Pace               // of this process
	Calls       float64       // of Redis, for each
	Redis       time.Duration // processor time of Redis, for each
}

// Cost does the work, which returns how many pieces there were; none is an error.
// commands are those that count as calls.
func (s *Server) Cost(ctx context.Context, commands []string, work func() (pieces int64, err error)) (c Cost, err error) {
	before, err := s.Used(ctx)
	if err != nil {
		return c, err
	}
	cpu, start := report.CPU(), time.Now()
	if c.N, err = work(); err != nil {
		return c, err
	}
	c.Passed, cpu = time.Since(start), report.CPU()-cpu
	after, err := s.Used(ctx)
	if err != nil {
		return c, err
	}
	if c.N == 0 {
		return c, errors.New("nothing was done in time")
	}
	redis, calls := after.Since(before, commands)
	c.Total, c.Rate, c.Calls = calls, float64(c.N)/c.Passed.Seconds(), float64(calls)/float64(c.N)
	c.Redis, c.CPU = redis/time.Duration(c.N), cpu/time.Duration(c.N)
	return c, nil
}
