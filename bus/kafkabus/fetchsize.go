package kafkabus

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// fetchTarget is about how many bytes of records a fetch should bring. Brokers count
	// compressed bytes, and send between leastFetch and mostFetch of them, or one batch.
	fetchTarget           = 4 << 20
	leastFetch, mostFetch = 4 << 10, 1 << 20
)

// fetchSize bounds the memory of a client, however well its records are compressed: it asks
// for as many compressed bytes as expand to fetchTarget.
type fetchSize struct {
	mu     sync.Mutex
	client *kgo.Client
	ratio  float64 // of bytes to compressed bytes, in the mean of the last batches
	asked  int32
}

var (
	_ kgo.HookNewClient      = (*fetchSize)(nil)
	_ kgo.HookFetchBatchRead = (*fetchSize)(nil)
)

// options are those of a client before it has read anything: it starts with small fetches.
func (f *fetchSize) options() []kgo.Opt {
	f.ratio, f.asked = fetchTarget/leastFetch, leastFetch
	return []kgo.Opt{kgo.WithHooks(f), kgo.FetchMaxBytes(leastFetch), kgo.FetchMaxPartitionBytes(leastFetch / 2)}
}

// OnNewClient implements kgo.HookNewClient.
func (f *fetchSize) OnNewClient(c *kgo.Client) {
	f.mu.Lock()
	f.client = c
	f.mu.Unlock()
}

// OnFetchBatchRead implements kgo.HookFetchBatchRead.
func (f *fetchSize) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	if m.CompressedBytes < 1 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ratio += (float64(m.UncompressedBytes)/float64(m.CompressedBytes) - f.ratio) / 4
	want := int32(min(mostFetch, max(leastFetch, fetchTarget/max(f.ratio, 1))))
	if want < f.asked*4/5 || want > f.asked*5/4 {
		f.asked = want
		f.client.UpdateFetchMaxBytes(want, want/2)
	}
}
