package sqsbus_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/fault"
)

// pretended is an SQS without a network, which does not answer some of the requests.
type pretended struct {
	mu       sync.Mutex
	hang     string          // the operation without an answer
	messages int             // that are not given yet
	given    int             // the others
	extended map[string]bool // receipts
	returned map[string]bool // receipts
	expired  string          // the receipt that is not extended
	deleted  map[string]bool // receipts
	throttle map[string]bool // operations whose next entries are throttled
}

// client is a client of it.
func (p *pretended) client() *sqs.Client {
	return sqs.New(sqs.Options{
		Region: "nowhere", HTTPClient: p, DisableMessageChecksumValidation: true,
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
}

// Do implements the client's HTTP client.
func (p *pretended) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	p.mu.Lock()
	hang := p.hang == operation
	p.mu.Unlock()
	if hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	var asked struct {
		MaxNumberOfMessages, WaitTimeSeconds int
		Entries                              []struct {
			Id, ReceiptHandle string
			VisibilityTimeout int
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, err
	}
	if p.throttled(operation) {
		var failed []string
		for _, e := range asked.Entries {
			failed = append(failed, fmt.Sprintf(`{"Id":%q,"Code":"RequestThrottled","SenderFault":true}`, e.Id))
		}
		return answered(r, `{"Failed":[`+strings.Join(failed, ",")+`]}`), nil
	}
	answer := "{}"
	switch operation {
	case "GetQueueUrl":
		answer = `{"QueueUrl":"https://sqs/1/topic.fifo"}`
	case "ChangeMessageVisibilityBatch":
		p.mu.Lock()
		for _, e := range asked.Entries {
			switch {
			case e.ReceiptHandle == p.expired:
				answer = fmt.Sprintf(`{"Failed":[{"Id":%q,"Code":"InvalidParameterValue","SenderFault":true}]}`, e.Id)
			case e.VisibilityTimeout == 0:
				p.returned[e.ReceiptHandle] = true
			default:
				p.extended[e.ReceiptHandle] = true
			}
		}
		p.mu.Unlock()
	case "DeleteMessageBatch":
		p.mu.Lock()
		for _, e := range asked.Entries {
			p.deleted[e.ReceiptHandle] = true
		}
		p.mu.Unlock()
	case "ReceiveMessage":
		p.mu.Lock()
		var some []string
		for ; p.messages > 0 && len(some) < asked.MaxNumberOfMessages; p.messages-- {
			p.given++
			some = append(some, fmt.Sprintf(`{"MessageId":"id-%[1]d","ReceiptHandle":"receipt-%[1]d","Body":"body"}`, p.given))
		}
		p.mu.Unlock()
		if len(some) == 0 {
			time.Sleep(time.Duration(asked.WaitTimeSeconds) * time.Second) // SQS waits for messages
		}
		answer = `{"Messages":[` + strings.Join(some, ",") + `]}`
	}
	return answered(r, answer), nil
}

// throttled reports whether the entries of a request are throttled; those of the next are not.
func (p *pretended) throttled(operation string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer delete(p.throttle, operation)
	return p.throttle[operation]
}

func answered(r *http.Request, answer string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: r,
	}
}

// take fetches all messages of a pretended SQS.
func take(t *testing.T, p *pretended) (driver.Source, []driver.Delivery) {
	t.Helper()
	p.extended, p.returned, p.deleted = map[string]bool{}, map[string]bool{}, map[string]bool{}
	n := p.messages
	b := open(t, sqsbus.Config{Client: p.client()}, "sqs://nowhere")
	s, err := b.Driver().Source(t.Context(), "topic", "group", max(n, 1))
	require.NoError(t, err)
	var all []driver.Delivery
	for len(all) < n {
		some, err := s.Fetch(t.Context(), n)
		require.NoError(t, err)
		all = append(all, some...)
	}
	return s, all
}

// When SQS does not answer, no message is regarded as ours after its visibility has ended,
// however many there are.
func TestManyMessagesAreTakenBackInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pretended{messages: 200, hang: "ChangeMessageVisibilityBatch"}
		s, all := take(t, p)
		time.Sleep(31 * time.Second) // the visibility is 30 s
		late := 0
		for _, d := range all {
			if d.Context().Err() == nil {
				late++
			}
		}
		if late > 0 {
			t.Errorf("the contexts of %d of %d messages go on", late, len(all))
		}
		p.mu.Lock()
		p.hang = ""
		p.mu.Unlock()
		assert.NoError(t, s.Close())
	})
}

// A request to delete messages that SQS does not answer takes no time from the others.
func TestAHangingDeleteTakesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pretended{messages: 2, hang: "DeleteMessageBatch"}
		s, all := take(t, p)
		all[0].Done()
		time.Sleep(25 * time.Second) // the visibility is 30 s
		p.mu.Lock()
		assert.True(t, p.extended["receipt-2"], "the message that is being handled was not extended")
		p.mu.Unlock()
		began := time.Now()
		assert.Error(t, s.Close(), "a message that is not deleted is no error of Close")
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("Close took %s", took)
		}
	})
}

// Close does not wait for long for the answer to a request for messages that does not come.
func TestCloseDespiteAHangingRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := take(t, &pretended{hang: "ReceiveMessage"})
		synctest.Wait()
		began := time.Now()
		assert.NoError(t, s.Close())
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("Close took %s", took)
		}
	})
}

// When SQS has taken a message back, the later ones of its key are handed back too: SQS delivers
// them again behind it.
func TestLaterMessagesOfALostOneAreHandedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pretended{messages: 3, expired: "receipt-2"} // of one key
		s, all := take(t, p)
		time.Sleep(11 * time.Second) // they are extended after 10 s
		for i, ended := range []bool{false, true, true} {
			if got := all[i].Context().Err() != nil; got != ended {
				t.Errorf("the context of message %d has ended: %t, want %t", i+1, got, ended)
			}
		}
		p.mu.Lock()
		if p.returned["receipt-1"] || !p.returned["receipt-3"] {
			t.Errorf("returned are %v, want the third", p.returned)
		}
		p.mu.Unlock()
		all[0].Done()
		assert.NoError(t, s.Close())
	})
}

// SQS calls a throttled entry a fault of the sender. Such an entry is sent again: its message is
// neither lost to its handler, nor delivered again after its acknowledgement.
func TestThrottledEntriesAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pretended{messages: 1, throttle: map[string]bool{"ChangeMessageVisibilityBatch": true, "DeleteMessageBatch": true}}
		s, all := take(t, p)
		time.Sleep(21 * time.Second) // it is extended after 10 s and 20 s
		assert.NoError(t, all[0].Context().Err(), "after a throttled extension")
		all[0].Done()
		time.Sleep(time.Second)
		p.mu.Lock()
		assert.Empty(t, p.throttle, "operations that were not throttled")
		assert.True(t, p.extended["receipt-1"], "it was extended")
		assert.True(t, p.deleted["receipt-1"], "it was deleted")
		p.mu.Unlock()
		assert.NoError(t, s.Close())
	})
}

// A message that is throttled is not at fault: the same message is taken later.
func TestAThrottledMessageIsNotAtFault(t *testing.T) {
	p := &pretended{throttle: map[string]bool{"SendMessageBatch": true}}
	b := open(t, sqsbus.Config{Client: p.client()}, "sqs://nowhere")
	err := b.Publisher().Publish("topic", keyed("k", "1"))
	require.ErrorContains(t, err, "RequestThrottled")
	assert.Equal(t, fault.Infrastructure, fault.Of(err), "its class")
	publish(t, b, "topic", keyed("k", "1"))
}
