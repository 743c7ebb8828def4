package ops_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/sse"
)

// TestStreams: the report has the figures of the process's streams, and nothing
// where it has none.
func TestStreams(t *testing.T) {
	d := newDesk(t, func(cfg *ops.Config) {
		cfg.Streams = func() sse.Stats {
			s := sse.Stats{Streams: 1, Members: 2, Rooms: 3, Leased: true, Opened: 4, Outages: 5, Evictions: 6, Sent: 7, Dropped: 8}
			s.Ended.Evicted, s.Ended.Slow, s.Ended.Outage, s.Ended.Gone = 9, 10, 11, 12
			return s
		}
	})
	got := d.reported(t)["streams"]
	want := `{"open":1,"members":2,"rooms":3,"leased":true,"hearing":false,"opened":4,"evicted":9,"slow":10,"outage":11,"refused":5,"away":6,"sent":7,"dropped":8}`
	assert.Equalf(t, want, string(got), "the streams are %s", got)
	if got, there := newDesk(t, nil).reported(t)["streams"]; there {
		t.Errorf("without streams: %s", got)
	}
}

// TestChat: the report has the figures of the process's chat, and nothing where it
// has none.
func TestChat(t *testing.T) {
	d := newDesk(t, func(cfg *ops.Config) {
		cfg.Chat = func() chat.Stats {
			return chat.Stats{
				Sockets: 1, Rooms: 2, Waiting: 3, Sent: 4, Stored: 5, ToldLive: 6, Dropped: 7, Failed: 8, DeadLettered: 9,
				Unsent: 10, Slow: 11, Unrung: 12,
			}
		}
	})
	got := d.reported(t)["chat"]
	want := `{"sockets":1,"rooms":2,"backlog":3,"sent":4,"stored":5,"toldLive":6,"dropped":7,"failed":8,"deadLettered":9}`
	assert.Equalf(t, want, string(got), "the chat is %s", got)
	if got, there := newDesk(t, nil).reported(t)["chat"]; there {
		t.Errorf("without a chat: %s", got)
	}
}

// reported is the report by its parts.
func (d *desk) reported(t *testing.T) (parts map[string]json.RawMessage) {
	t.Helper()
	report, err := d.ops.Report(t.Context())
	require.NoError(t, err)
	text, err := json.Marshal(report)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &parts))
	return parts
}
