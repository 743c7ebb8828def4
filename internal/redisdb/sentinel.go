package redisdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ErrNoMaster is wrapped by the error of a call for which no connection was made, because no
// Sentinel named the master.
var ErrNoMaster = errors.New("no Sentinel names the master")

// unnamed is part of the text of the error of go-redis, which has no type.
const unnamed = "redis: all sentinels specified in configuration are unreachable"

// behindSentinels makes a client of the master that Sentinels name.
func behindSentinels(universal *redis.UniversalOptions) *redis.Client {
	opts := universal.Failover()
	// To make a connection, the client asks the Sentinel that answered last, asks it once more,
	// and then asks all. A silent Sentinel costs two timeouts, and the third is for the others.
	// With one timeout for all, the client would ask the silent Sentinel again and again.
	opts.Dialer = dialer(opts.DialTimeout, opts.TLSConfig)
	opts.DialTimeout *= 3
	client := redis.NewFailoverClient(opts)
	client.AddHook(explainer{opts.MasterName})
	return client
}

// explainer is a hook that reports why Sentinels did not name their master. Among the errors of
// go-redis is [redis.Nil] when a Sentinel does not know the name, and a call would take it for
// the answer that its key does not exist.
type explainer struct{ master string }

func (e explainer) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		return conn, e.explain(err)
	}
}

func (e explainer) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (e explainer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// explain keeps only the text of an answer: it is not an answer to the call.
func (e explainer) explain(err error) error {
	var answer redis.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redis.Nil):
		return fmt.Errorf("redisdb: %w: none of them knows %q; correct master= in the URL, or have the Sentinels watch that master", ErrNoMaster, e.master)
	case errors.As(err, &answer):
		return fmt.Errorf("redisdb: %w %q: they answer %q; check that the hosts in the URL are Sentinels, and its sentinel_user= and sentinel_password=", ErrNoMaster, e.master, answer.Error())
	case isUnnamed(err):
		return fmt.Errorf("redisdb: %w %q: none can be reached; check the hosts and ports in the URL: %w", ErrNoMaster, e.master, err)
	}
	return err
}

func isUnnamed(err error) bool { return strings.Contains(err.Error(), unnamed) }
