package kafkabus

import (
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
)

// A commit of a partition that was lost before the request had its generation is not sent,
// though the member is in the group again and brokers would accept it.
func TestNoCommitOfALostPartition(t *testing.T) {
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	defer c.Close()
	b, err := bus.Open(t.Context(), "kafka://"+strings.Join(c.ListenAddrs(), ","), Scheme(Config{Partitions: 1, CommitInterval: time.Hour}))
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	require.NoError(t, b.Publisher().Publish("topic", message.NewMessage("1", []byte("1"))))
	from, err := b.Driver().Source(t.Context(), "topic", "group", 8)
	require.NoError(t, err)
	defer from.Close() //nolint:errcheck // the claim is not the source's
	all, err := from.Fetch(t.Context(), 1)
	require.NoError(t, err)
	s, held := from.(*source), all[0].(*flight).claim

	lost := newClaim(s, held.partition)
	lost.prefix.Done(lost.prefix.Add(99))
	s.mu.Lock()
	lost.end()
	s.mu.Unlock()
	s.commits.Lock()
	err = s.commit(t.Context(), []*claim{lost}, progress)
	s.commits.Unlock()
	require.ErrorIs(t, err, busdriver.ErrRevoked)
	all[0].Done()
	require.NoError(t, from.Close())
	at, err := b.Driver().(*driver).committed(t.Context(), "group")
	require.NoError(t, err)
	require.Equal(t, commit{offset: 1}, at["topic"][0])
}
