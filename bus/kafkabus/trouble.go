package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// trouble logs the problems of a member's reading: when they begin, and when all of them
// are over. The client reports connections and the group to it.
type trouble struct {
	log *slog.Logger

	mu    sync.Mutex
	of    map[string]struct{} // brokers, group and fetching
	ended bool                // the member leaves: nothing is logged any more
}

// Causes of trouble other than a broker.
const (
	ofGroup    = "group"
	ofFetching = "fetching"
)

var (
	_ kgo.HookBrokerConnect    = (*trouble)(nil)
	_ kgo.HookGroupManageError = (*trouble)(nil)
)

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (t *trouble) OnBrokerConnect(b kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	at := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	if err == nil {
		t.over(at)
		return
	}
	t.begun(at, kit.UntrustedHint(err, at, "?ca="))
}

// OnGroupManageError implements kgo.HookGroupManageError.
func (t *trouble) OnGroupManageError(err error) {
	if errors.Is(err, kerr.InconsistentGroupProtocol) {
		err = fmt.Errorf("the group has members that share out partitions in another way, as Watermill's subscribers do: stop all of them, or use another group: %w", err)
	}
	t.begun(ofGroup, err)
}

func (t *trouble) begun(what string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]struct{}{}
	}
	first := len(t.of) == 0
	t.of[what] = struct{}{}
	if first && !t.ended {
		t.log.Warn("kafkabus: reading is in trouble; trying again until it works", slog.Any("error", err))
	}
}

func (t *trouble) over(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, was := t.of[what]; !was {
		return
	}
	delete(t.of, what)
	if len(t.of) == 0 && !t.ended {
		t.log.Info("kafkabus: reading works again")
	}
}

// end stops all further logging.
func (t *trouble) end() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
}
