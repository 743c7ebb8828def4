package sqsbus_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqsbus"
)

// Topics have the names of their queues' tags; a lookup creates no queue.
func TestTopicsByTags(t *testing.T) {
	tags := map[string]string{"dlq-payment.fifo": "dlq.payment", "orders.fifo": "orders", "another": ""}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ QueueName, QueueUrl, QueueNamePrefix string } //nolint:revive // the names of the protocol
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&ask))
		var answer any
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		switch operation {
		case "ListQueues":
			urls := []string{}
			for name := range tags {
				if strings.HasPrefix(name, ask.QueueNamePrefix) {
					urls = append(urls, "http://sqs/"+name)
				}
			}
			answer = map[string]any{"QueueUrls": urls}
		case "ListQueueTags":
			answer = map[string]any{}
			if tag := tags[strings.TrimPrefix(ask.QueueUrl, "http://sqs/")]; tag != "" {
				answer = map[string]any{"Tags": map[string]string{"millrace-topic": tag}}
			}
		case "GetQueueUrl":
			if _, there := tags[ask.QueueName]; !there {
				w.WriteHeader(http.StatusBadRequest)
				answer = map[string]string{"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "there is none"}
				break
			}
			answer = map[string]string{"QueueUrl": "http://sqs/" + ask.QueueName}
		default:
			t.Errorf("the question %s was asked", operation)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		assert.NoError(t, json.NewEncoder(w).Encode(answer))
	}))
	defer server.Close()
	b, err := bus.Open(t.Context(), fmt.Sprintf("sqs://key:secret@here/?endpoint=%s", url.QueryEscape(server.URL)), sqsbus.Scheme(sqsbus.Config{}))
	require.NoError(t, err)
	defer func() {
		assert.NoError(t, b.Close())
	}()
	for name, want := range map[string]bool{"dlq.payment": true, "orders": true, "dlq.paymnet": false} {
		if found, err := b.Topics(t.Context(), name); err != nil || (len(found) == 1) != want {
			t.Errorf("Topics(%s) is %v, %v; want %t", name, found, err, want)
		}
	}
	if all, err := b.Topics(t.Context()); err != nil || !slices.Equal(all, []string{"dlq.payment", "orders"}) {
		t.Errorf("Topics() is %q, %v", all, err)
	}
	if _, err := b.Topics(t.Context(), "no such name!"); err == nil {
		t.Error("a name that no queue can have is taken")
	}
}
