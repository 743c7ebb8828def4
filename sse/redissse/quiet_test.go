package redissse_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/sse/driver"
	"github.com/millrace-go/millrace/sse/redissse"
)

// mute is a server with the commands of a subscription, which may fall silent.
type mute struct {
	silent atomic.Bool
	few    atomic.Bool // confirms the first subscription only
	pings  atomic.Int64
	made   atomic.Int64
}

func (m *mute) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	m.made.Add(1)
	go m.serve(far)
	return near, nil
}

// serve answers commands until the connection ends.
func (m *mute) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		words, err := command(in)
		if err != nil {
			return
		}
		var answer string
		switch strings.ToLower(words[0]) {
		case "subscribe":
			for i, channel := range words[1:] {
				if i > 0 && m.few.Load() {
					break
				}
				answer += fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:%d\r\n", len(channel), channel, i+1)
			}
		case "ping":
			m.pings.Add(1)
			answer = "*2\r\n$4\r\npong\r\n$0\r\n\r\n"
		case "hello":
			answer = "-ERR unknown command\r\n"
		default:
			answer = "+OK\r\n"
		}
		if m.silent.Load() {
			continue
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// command reads one.
func command(in *bufio.Reader) (words []string, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "*")))
	for ; err == nil && n > 0; n-- {
		if _, err = in.ReadString('\n'); err != nil {
			break
		}
		var word string
		word, err = in.ReadString('\n')
		words = append(words, strings.TrimSpace(word))
	}
	return words, err
}

// TestQuiet: nothing is heard before all channels are confirmed. A connection with nothing but
// PINGs and answers is kept for an hour, and closed when there are no answers: after Silence, and
// within twice of it.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &mute{}
		server.few.Store(true)
		client := redis.NewClient(&redis.Options{
			// An address, since a name would be looked up outside of this bubble's time.
			Addr: "127.0.0.1:1", Dialer: server.dial, Protocol: 2, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			ContextTimeoutEnabled:    true, MaxRetries: -1, DialerRetries: 1,
		})
		b := newBroker(t, client, redissse.Config{})
		var ups, downs atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var listening sync.WaitGroup
		listening.Go(func() {
			err := b.Listen(ctx, driver.Listener{
				Hear: func(driver.Message) {}, Up: func() { ups.Add(1) }, Down: func() { downs.Add(1) },
			})
			assert.NoError(t, err)
		})
		is := func(when string, up, down int64) {
			t.Helper()
			synctest.Wait()
			if ups.Load() != up || downs.Load() != down {
				t.Errorf("%s: %d times up and %d down, want %d and %d", when, ups.Load(), downs.Load(), up, down)
			}
		}
		const silence = 5 * time.Second // the default
		is("with one of its channels", 0, 0)
		server.few.Store(false)
		server.silent.Store(true)
		time.Sleep(2*silence + time.Second)
		server.silent.Store(false)
		time.Sleep(4 * silence)
		made := server.made.Load()
		time.Sleep(time.Hour)
		is("after a quiet hour", 1, 0)
		if n := server.pings.Load(); n < 100 || server.made.Load() != made {
			t.Errorf("%d questions, and %d more connections", n, server.made.Load()-made)
		}
		server.silent.Store(true)
		time.Sleep(silence - time.Second)
		is("within the silence", 1, 0)
		time.Sleep(silence + 2*time.Second)
		is("after twice the silence", 1, 1)
		server.silent.Store(false)
		time.Sleep(3 * silence)
		is("when it answers again", 2, 1)
		stop()
		listening.Wait()
		assert.NoError(t, client.Close())
	})
}
