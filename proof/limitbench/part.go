package limitbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/proof/part"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/proof/report"
)

// Part is the first argument of this program when it is one of the processes that
// share a limit.
const Part = "limit-part"

// empty is the limit of Redis with one call for each decision: a script that
// decides nothing.
const empty = "empty script"

// Take is the main function of such a process.
func Take(ctx context.Context, args []string, in io.Reader, out io.Writer) (err error) {
	if len(args) != 3 {
		return fmt.Errorf("%q is no part of a measurement; give the URL of Redis, a key and a number of connections", args)
	}
	pool, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	s, err := redisserver.Connect(args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	asks := map[string]decide{}
	for name, open := range map[string]func(context.Context, *redisserver.Server, string, int, bool) (decide, func() error, error){millrace: openMillrace, empty: openEmpty} {
		ask, done, failed := open(ctx, s, args[1], pool, false)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, done()) }()
		asks[name] = ask
	}
	return part.Answer(ctx, in, out, func(ctx context.Context, line string) (string, error) {
		return command(ctx, line, asks)
	})
}

// command is `run "NAME" CALLERS MS`, answered with the decisions, and the
// nanoseconds and processor time that they took; or `warm …`, which waits for the
// budget first.
func command(ctx context.Context, line string, asks map[string]decide) (string, error) {
	var verb, name string
	var callers, ms int
	if _, err := fmt.Sscanf(line, "%s %q %d %d", &verb, &name, &callers, &ms); err != nil {
		return "", fmt.Errorf("what is %q?", line)
	}
	ask, known := asks[name]
	if !known || callers < 1 {
		return "", fmt.Errorf("what is %q?", line)
	}
	if verb == "warm" {
		if err := begin(ctx, false, ask); err != nil {
			return "", err
		}
	}
	cpu, start := report.CPU(), time.Now()
	granted, _, err := count(ctx, callers, time.Duration(ms)*time.Millisecond, false, ask)
	return fmt.Sprint(granted, " ", int64(time.Since(start)), " ", int64(report.CPU()-cpu)), err
}

func openEmpty(_ context.Context, s *redisserver.Server, key string, pool int, _ bool) (decide, func() error, error) {
	client, script := s.Client(pool), redis.NewScript("return 1")
	keys := []string{"{" + key + "}:empty"}
	return func(ctx context.Context) (bool, error) {
		n, err := script.Run(ctx, client, keys).Int()
		return n == 1, err
	}, client.Close, nil
}
