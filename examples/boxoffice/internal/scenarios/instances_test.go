package scenarios

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/rediscoalesce"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/redistest"
)

// The process that is one of ten instances.
const childInstance = "SCENARIOS_CHILD_INSTANCE"

// instance is a process with a coalescer of its own, which reads its commands line by
// line.
type instance struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
}

// startInstances starts ten on the Cluster, and returns a client and their prefix.
func startInstances(t *testing.T) (all []*instance, client redis.UniversalClient, prefix string) {
	t.Helper()
	url := clusterURL(t)
	client = openRedis(t, url)
	prefix = redistest.Prefix(t, client)
	given, err := json.Marshal([]string{url, prefix})
	require.NoError(t, err)
	for range 10 {
		cmd := exec.Command(os.Args[0]) // it ends with its input
		cmd.Env = append(os.Environ(), childInstance+"="+string(given))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			check(t, "close an instance's input", in.Close()) // ends it
			check(t, "an instance", cmd.Wait())
		})
		all = append(all, &instance{t: t, in: in, lines: bufio.NewScanner(out)})
	}
	return all, client, prefix
}

// tell sends a line and returns the answer.
func (i *instance) tell(format string, args ...any) string {
	if _, err := fmt.Fprintf(i.in, format+"\n", args...); err != nil {
		i.t.Error(err)
		return ""
	}
	if !i.lines.Scan() {
		i.t.Errorf("an instance ended: %v", i.lines.Err())
	}
	return i.lines.Text()
}

// beInstance answers lines until there are no more: "versions 5" takes five versions,
// "request" one, and "release 7" releases that one.
func beInstance(text string) (err error) {
	var given []string
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return err
	}
	client, err := redisdb.Open(given[0], redisdb.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	store, err := rediscoalesce.New(client, rediscoalesce.Config{Prefix: given[1]})
	if err != nil {
		return err
	}
	c, err := coalesce.New(store, fleetConfig())
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		command, argument, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseInt(argument, 10, 64) // none
		answer, err := obey(context.Background(), c, client, given[1], command, n)
		if err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
		fmt.Println(answer)
	}
	return nil
}

func obey(ctx context.Context, c *coalesce.Coalescer, client redis.UniversalClient, prefix, command string, n int64) (any, error) {
	switch command {
	case "request":
		d, err := c.Request(ctx, theKey, coalesce.High)
		if err == nil && !d.Mine() {
			err = fmt.Errorf("somebody has it: %v", d.Outcome)
		}
		return d.Ticket.Version, err
	case "release":
		return c.Release(ctx, theKey, coalesce.High, n)
	case "versions":
		for taken := int64(0); taken < n; {
			d, err := c.Request(ctx, theKey, coalesce.High)
			if err != nil {
				return nil, err
			}
			if !d.Mine() {
				continue
			}
			// The lock has one holder, so the list is in the order of the versions' use.
			if err := client.RPush(ctx, prefix+"taken", d.Ticket.Version).Err(); err != nil {
				return nil, err
			}
			taken++
			if released, err := c.Release(ctx, theKey, coalesce.High, d.Ticket.Version); !released || err != nil {
				return nil, errors.Join(err, fmt.Errorf("release of %d: %v", d.Ticket.Version, released))
			}
		}
		return "done", nil
	}
	return nil, fmt.Errorf("unknown command %q", command)
}

// versionsOfProcesses makes ten processes take versions of one key at once.
func versionsOfProcesses(t *testing.T) {
	const each = 20
	all, client, prefix := startInstances(t)
	var running sync.WaitGroup
	for _, i := range all {
		running.Go(func() { i.tell("versions %d", each) })
	}
	running.Wait()
	var list []int64
	require.NoError(t, client.LRange(t.Context(), prefix+"taken", 0, -1).ScanSlice(&list))
	growing(t, list, each*len(all))
	measured(t, "%d versions taken by %d processes, each above the last", len(list), len(all))
}

// releaseByProcesses makes ten processes release one run at once.
func releaseByProcesses(t *testing.T) {
	const often = 20
	all, _, _ := startInstances(t)
	for round := range often {
		version := all[round%len(all)].tell("request")
		var mu sync.Mutex
		done := 0
		var running sync.WaitGroup
		for _, i := range all {
			running.Go(func() {
				if i.tell("release %s", version) == "true" {
					mu.Lock()
					done++
					mu.Unlock()
				}
			})
		}
		running.Wait()
		require.Equalf(t, 1, done, "round %d: %d of %d processes released it, want one", round, done, len(all))
	}
	measured(t, "%d rounds, %d processes each: one release", often, len(all))
}
